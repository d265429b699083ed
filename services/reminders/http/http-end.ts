// Starts the HTTP end of reminders.
import { listenOrClose } from '../../platform/http/listen.ts';
import { buildHttpApp, type HttpDependencies } from './app.ts';

export type HttpEnd = { port: number; close(): Promise<void> };

/** `port`: 0 for any free one. @throws Error that names the address if it is in use. */
export async function startHttpEnd(
  options: HttpDependencies & { host: string; port: number },
): Promise<HttpEnd> {
  const app = buildHttpApp(options);
  const close = async () => {
    await app.close();
  };
  return { port: await listenOrClose(app, options, close), close };
}
