// The gRPC server of a service: handlers, health, reflection, service token, graceful shutdown.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { HealthImplementation } from 'grpc-health-check';
// Node finds no names in this CommonJS module, only its default.
import descriptor, { type IFileDescriptorSet } from 'protobufjs/ext/descriptor/index.js';
import { endsWithin } from '../concurrency.ts';
import type { Logger } from '../logging/logger.ts';
import { tierOf } from '../observability/observe.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import type { GrpcTrust } from '../process/common-config.ts';
import { loadProto, serviceDefinition } from '../protobuf/load.ts';
import {
  createLocalServer,
  type LocalServer,
  type ServiceImplementation,
  serveCalls,
  wrapForGrpc,
} from './handlers.ts';
import { logRefusedTokens, requireToken } from './service-token.ts';

/**
 * The largest legal request has two texts of 262,144 bytes. Up to twice that, an error names the field at fault; a larger call
 * ends with RESOURCE_EXHAUSTED before its request is read.
 */
const MAX_REQUEST_BYTES = 1024 * 1024;
/** Of a shutdown: time for the last responses to leave, and for clients to disconnect. */
const DRAIN_MS = 500;
/** Of all protos, as `buf build` makes them; npm run generate writes the file. */
const DESCRIPTORS = join(import.meta.dirname, '../../../proto/descriptors.binpb');

type GrpcServerOptions = {
  /** The proto package of all services, such as "accounts.v1"; also the error domain. */
  domain: string;
  services: readonly ServiceImplementation[];
  host: string;
  /** 0 for any free port. */
  port: number;
  /** Age of a connection, ± a tenth, at which its client is told to resolve the name again and to reconnect. Default 30,000. */
  maxConnectionAgeMs?: number;
  trust: GrpcTrust;
  logger: Logger;
  telemetry?: Telemetry;
};

export type GrpcServer = {
  port: number;
  /** For clients in this process; works without a token, as nothing leaves the process. */
  local: LocalServer;
  /** Stops accepting calls, waits for running ones, and aborts them after `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
};

/**
 * Starts listening. If tokens are set, all calls need one; health (grpc.health.v1) works without one and refuses a wrong one.
 * @throws Error that names the address if the port is in use.
 */
export async function startGrpcServer(
  options: GrpcServerOptions,
): Promise<GrpcServer & { setServing(isServing: boolean): void }> {
  const { serviceTokens } = options.trust;
  const logRefusal = logRefusedTokens(options.logger, tierOf(`/${options.domain}`));
  const server = new Server({
    interceptors: serviceTokens.length > 0 ? [requireToken(serviceTokens, logRefusal)] : [],
    'grpc.max_receive_message_length': MAX_REQUEST_BYTES,
    // An old connection accepts no new calls, and closes after its last call, so streams continue.
    // No ping of client.ts may be sent while connections close.
    'grpc.max_connection_age_ms': options.maxConnectionAgeMs ?? 30_000,
    // A facade has at most 128 requests in progress; a client queues calls beyond the limit.
    'grpc.max_concurrent_streams': 512,
  });
  const proto = loadProto(options.domain);
  const nameOf = ({ service }: ServiceImplementation) => `${options.domain}.${service}`;
  const running = new Set<Promise<unknown>>();
  const unaryRpcs = options.services.flatMap((service) => {
    const definition = serviceDefinition(proto, nameOf(service));
    const served = serveCalls(definition, service, { ...options, running });
    server.addService(definition, wrapForGrpc(served));
    return served.filter(({ method }) => !method.requestStream && !method.responseStream);
  });
  const local = createLocalServer(unaryRpcs, { maxRequestBytes: MAX_REQUEST_BYTES });
  const names = options.services.map(nameOf);
  const health = new HealthImplementation({});
  // The empty name is the server as a whole.
  const setServing = (isServing: boolean) => {
    for (const name of ['', ...names]) health.setStatus(name, isServing ? 'SERVING' : 'NOT_SERVING');
  };
  setServing(true);
  health.addToServer(server);
  reflectionOf([...names, 'grpc.health.v1.Health']).addToServer(server);
  const port = await bind(server, options);
  return {
    port,
    local,
    /** Sets the status that the health service reports until the shutdown, for each service and for the server. */
    setServing,
    async close(timeoutMs) {
      setServing(false);
      local.refuse();
      const closed = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      await endsWithin(Promise.all(running), timeoutMs);
      local.cut();
      // Clients that have sent nothing, or do not close their side, would delay the shutdown without limit.
      await endsWithin(closed, Math.min(DRAIN_MS, timeoutMs));
      server.forceShutdown();
    },
  };
}

/** Reflection, v1 and v1alpha, of the services with these full names. */
function reflectionOf(services: string[]): ReflectionService {
  const { FileDescriptorProto, FileDescriptorSet } = descriptor;
  // The type of the message has these fields.
  const { file } = FileDescriptorSet.decode(readFileSync(DESCRIPTORS)) as unknown as IFileDescriptorSet;
  const described = {
    format: 'Protocol Buffer 3 EnumDescriptorProto',
    type: {},
    fileDescriptorProtos: file.map((each) => Buffer.from(FileDescriptorProto.encode(each).finish())),
  } as const;
  // Given the loaded definitions, it would merge the files of a package into one, which strict tools refuse.
  return new ReflectionService({ described }, { services });
}

function bind(server: Server, { host, port, trust }: GrpcServerOptions): Promise<number> {
  const credentials =
    trust.tls === undefined
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(
          trust.tls.authority,
          [{ cert_chain: trust.tls.certificate, private_key: trust.tls.key }],
          true,
        );
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, boundPort) => {
      if (error === null) resolve(boundPort);
      else reject(new Error(`cannot listen on ${address}: ${error.message}`));
    });
  });
}
