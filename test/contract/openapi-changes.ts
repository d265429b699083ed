// What in one version of the OpenAPI document could break a client of another.

type Json = Record<string, unknown>;
/** What a client sends may become wider; what it receives may only gain fields. */
type Direction = 'sent' | 'received';

/** Each change from `released` to `current` that is no addition, by its place; references are followed. */
export function breakingChanges(released: Json, current: Json): string[] {
  const found: string[] = [];
  const before = reader(released);
  const after = reader(current);

  const compareSchema = (place: string, from: unknown, to: unknown, direction: Direction): void => {
    const old = before.follow(from);
    const now = after.follow(to);
    for (const key of ['type', 'format', 'pattern', 'anyOf']) {
      if (!isSame(old[key], now[key])) found.push(`${place}: ${key}`);
    }
    const [oldValues, values] = [listOf(old.enum), listOf(now.enum)];
    const isNarrower = oldValues.some((value) => !values.includes(value));
    const isWider = values.some((value) => !oldValues.includes(value));
    if (isNarrower || (isWider && (direction === 'received' || oldValues.length === 0)))
      found.push(`${place}: enum`);
    for (const [key, isTighter] of Object.entries(TIGHTER)) {
      if (direction === 'sent' && now[key] !== undefined && isTighter(Number(old[key]), Number(now[key])))
        found.push(`${place}: ${key}`);
    }
    const [must, mustNow] = [listOf(old.required), listOf(now.required)];
    const lost =
      direction === 'sent'
        ? mustNow.filter((name) => !must.includes(name))
        : must.filter((name) => !mustNow.includes(name));
    found.push(...lost.map((name) => `${place}.${name}: required`));
    for (const [name, property] of Object.entries(objectOf(old.properties))) {
      const next = objectOf(now.properties)[name];
      if (next === undefined) found.push(`${place}.${name}: gone`);
      else compareSchema(`${place}.${name}`, property, next, direction);
    }
    if (old.items !== undefined) compareSchema(`${place}[]`, old.items, now.items, direction);
  };

  const compareContent = (place: string, from: unknown, to: unknown, direction: Direction) => {
    for (const [type, media] of Object.entries(objectOf(objectOf(from).content))) {
      const next = objectOf(objectOf(objectOf(to).content)[type]);
      compareSchema(place, objectOf(media).schema, next.schema, direction);
    }
  };

  for (const { place, operation, current: next } of operationsOf(released, current)) {
    if (next === undefined) {
      found.push(`${place}: gone`);
      continue;
    }
    if (operation.operationId !== next.operationId) found.push(`${place}: operationId`);
    const parameters = parametersOf(operation);
    const parametersNow = parametersOf(next);
    for (const [name, parameter] of Object.entries(parameters)) {
      const now = parametersNow[name];
      if (now === undefined) found.push(`${place} ${name}: gone`);
      else compareSchema(`${place} ${name}`, parameter.schema, now.schema, 'sent');
    }
    for (const [name, { required }] of Object.entries(parametersNow)) {
      if (required === true && parameters[name]?.required !== true) found.push(`${place} ${name}: required`);
    }
    compareContent(`${place} body`, operation.requestBody, next.requestBody, 'sent');
    for (const [status, response] of Object.entries(objectOf(operation.responses))) {
      const now = objectOf(next.responses)[status];
      if (now === undefined) found.push(`${place} ${status}: gone`);
      else compareContent(`${place} ${status}`, response, now, 'received');
    }
  }
  return found;
}

/** Comparisons with NaN, for what has no bound, are false; a bound where there was none is tighter. */
const TIGHTER: Readonly<Record<string, (old: number, now: number) => boolean>> = {
  minimum: (old, now) => !(now <= old),
  minLength: (old, now) => !(now <= old),
  maximum: (old, now) => !(now >= old),
  maxLength: (old, now) => !(now >= old),
};

function operationsOf(released: Json, current: Json) {
  return Object.entries(objectOf(released.paths)).flatMap(([path, methods]) =>
    Object.entries(objectOf(methods)).map(([method, operation]) => {
      const next = objectOf(objectOf(current.paths)[path])[method];
      const place = `${method.toUpperCase()} ${path}`;
      return {
        place,
        operation: objectOf(operation),
        current: next === undefined ? undefined : objectOf(next),
      };
    }),
  );
}

function parametersOf({ parameters }: Json): Record<string, Json> {
  return Object.fromEntries(listOf(parameters).map((each) => [`${objectOf(each).name}`, objectOf(each)]));
}

function reader(document: Json) {
  const schemas = objectOf(objectOf(document.components).schemas);
  return {
    follow(schema: unknown): Json {
      const { $ref } = objectOf(schema);
      return typeof $ref === 'string'
        ? objectOf(schemas[$ref.slice($ref.lastIndexOf('/') + 1)])
        : objectOf(schema);
    },
  };
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
