// Keeps each mail as an .eml file, which mail programs open, where there is no SMTP server.
import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Returns a function that stores a mail as `NAME.eml`, readable by the owner only. The file appears complete, and replaces one
 * of the same name. Makes the folder if it is missing.
 */
export function createMailFolder(folder: string): (name: string, mail: Buffer) => Promise<void> {
  return async (name, mail) => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const temporary = join(folder, `.${randomUUID()}.tmp`);
    try {
      await writeFile(temporary, mail, { mode: 0o600, flag: 'wx' });
      await rename(temporary, join(folder, `${name}.eml`));
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  };
}
