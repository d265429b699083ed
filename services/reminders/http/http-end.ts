// Starts the HTTP end of reminders.
import { type HttpServer, startHttp } from '../../platform/http/server.ts';
import { buildHttpApp, type HttpDependencies } from './app.ts';

/** `port`: 0 for any free one. @throws Error that names the address if it is in use. */
export function startHttpEnd(
  options: HttpDependencies & { host: string; port: number },
): Promise<HttpServer> {
  return startHttp(() => buildHttpApp(options), options);
}
