// The machine's name servers, which change while a process runs. Skipped where a process may not have an /etc/resolv.conf of its own.
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const apart = ['--map-root-user', '--mount'];

function mayMount(): boolean {
  try {
    execFileSync('unshare', [...apart, 'mount', '--bind', '/etc/hosts', '/etc/resolv.conf'], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}

test.runIf(mayMount())('push asks the name server of now, not that of the start', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'srs-names-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const settings = join(folder, 'resolv.conf');
  writeFileSync(settings, 'nameserver 127.0.0.1:9\n');
  const program = join(import.meta.dirname, 'moved-name-server.ts');
  const command = `mount --bind "${settings}" /etc/resolv.conf && exec "${process.execPath}" "${program}"`;
  const { stdout } = await promisify(execFile)('unshare', [...apart, 'sh', '-c', command]);
  expect(JSON.parse(stdout)).toEqual([
    [{ address: '192.0.2.1', family: 4 }],
    [{ address: '192.0.2.2', family: 4 }],
  ]);
});
