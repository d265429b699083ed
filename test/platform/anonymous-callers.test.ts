// How fast callers without a key are answered, and that nobody else waits with them.
import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import Fastify from 'fastify';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  createAnonymousPacer,
  paceAnonymousCallers,
} from '../../services/platform/http/anonymous-callers.ts';
import { boundConnections } from '../../services/platform/http/connections.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe('callers without a key are answered', () => {
  function startPaced() {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const anonymousPacer = createAnonymousPacer(() => performance.now());
    const closing = new EventEmitter().setMaxListeners(0);
    let answered = 0;
    const ask = (times: number, of = closing, bytes = 0) => {
      const before = answered;
      for (let time = 0; time < times; time += 1)
        anonymousPacer.pace(connect({ port: 1 }).destroy(), of, () => (answered += 1), bytes);
      return answered - before;
    };
    return { anonymousPacer, ask, closing, answered: () => answered };
  }

  test('500 at once, and beyond it 250 a second', () => {
    const { ask, answered } = startPaced();
    expect(ask(700)).toBe(500);
    vi.advanceTimersByTime(400);
    expect(answered()).toBe(600);
    vi.advanceTimersByTime(400);
    expect(answered()).toBe(700);
  });

  test('at once again as far as they have rested, and no more than 500', () => {
    const { ask } = startPaced();
    expect(ask(500)).toBe(500);
    vi.advanceTimersByTime(1000);
    expect(ask(600)).toBe(250);
    vi.advanceTimersByTime(60_000);
    expect(ask(600)).toBe(500);
  });

  test('with 32 MiB at once, and beyond it 16 MiB a second', () => {
    const { ask, answered, closing } = startPaced();
    expect(ask(50, closing, 1024 * 1024)).toBe(31);
    vi.advanceTimersByTime(1000);
    expect(answered()).toBe(46);
  });

  test('after two seconds at the latest', () => {
    const { ask, answered } = startPaced();
    ask(2400);
    vi.advanceTimersByTime(1999);
    expect(answered()).toBeLessThan(2400);
    vi.advanceTimersByTime(1);
    expect(answered()).toBe(2400);
  });

  test('never where they have gone, and all of them at the end', () => {
    const { ask, closing, anonymousPacer, answered } = startPaced();
    expect(ask(510)).toBe(500);
    ask(7, new EventEmitter());
    closing.emit('close');
    anonymousPacer.flush();
    expect(answered()).toBe(507);
  });
});

describe('an application', () => {
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  /** Requests with x-key are not anonymous. The clock stands still. */
  async function start() {
    const app = Fastify();
    boundConnections(app);
    let paced = 0;
    app.addHook('onSend', (_request, _reply, _payload, done) => {
      paced += 1;
      done();
    });
    paceAnonymousCallers(
      app,
      createAnonymousPacer(() => 5000),
      ({ headers }) => headers['x-key'] === undefined,
    );
    let worked = 0;
    app.get('/', async () => {
      worked += 1;
      return {};
    });
    app.get('/large', async () => Buffer.alloc(100 * 64 * 1024));
    const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
    /** Resolves once so many wait or are answered; a poll would put the false clock forward. */
    const untilPaced = async (count: number) => {
      while (paced < count) await new Promise(setImmediate);
    };
    return { app, port: Number(port), worked: () => worked, untilPaced };
  }

  test('answers who has a key at once while callers without one wait', async () => {
    const { app } = await start();
    const answers: string[] = [];
    const ask = async (who: string, headers = {}) => {
      await app.inject({ url: '/', headers });
      answers.push(who);
    };
    await Promise.all(Array.from({ length: 500 }, () => ask('at once')));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const late = ask('anonymous');
    await ask('known', { 'x-key': 'k' });
    expect(answers.slice(500)).toEqual(['known']);
    await app.close();
    await late;
    expect(answers.slice(500)).toEqual(['known', 'anonymous']);
  });

  test('counts bodies by their bytes, but for HEAD', async () => {
    const { app } = await start();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const heads = Array.from({ length: 100 }, () => app.inject({ method: 'HEAD', url: '/large' }));
    await Promise.all(heads);
    await Promise.all(Array.from({ length: 4 }, () => app.inject('/large')));
    let isAnswered = false;
    const late = app.inject('/').then(() => (isAnswered = true));
    await app.inject({ url: '/', headers: { 'x-key': 'k' } });
    expect(isAnswered).toBe(false);
    await app.close();
    await late;
  });

  test('closes the connections of those who wait beyond 2,000, and answers none of them', async () => {
    const { app, port, untilPaced } = await start();
    await Promise.all(Array.from({ length: 500 }, () => app.inject('/')));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const waiting = Promise.all(Array.from({ length: 2000 }, () => app.inject('/')));
    await untilPaced(2500);
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => (received += text));
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await untilPaced(2501);
    vi.advanceTimersByTime(1000);
    await once(socket, 'close');
    expect(received).toBe('');
    await app.close();
    await waiting;
  });
});
