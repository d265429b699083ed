// Reads vitest's JSON reports for .ci/run.
//   failed FILE   prints the test files with failures
//   count FOLDER  prints each failed test, "flaky" where it passed when it was repeated, then "N passed, N failed"; exits with 1 if
//                 any failed, flaky or not
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const [command, path] = process.argv.slice(2);
const read = (file) => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined);

/** Each failed test as `{file, name, reason}`; a file that could not be loaded is one without a name. */
const failuresOf = ({ testResults }) =>
  testResults
    .filter(({ status }) => status === 'failed')
    .flatMap(({ name: path, message, assertionResults }) => {
      const file = relative(process.cwd(), path);
      const tests = assertionResults.filter(({ status }) => status === 'failed');
      if (tests.length === 0) return [{ file, name: '', reason: message }];
      return tests.map(({ fullName, failureMessages: [reason = ''] }) => ({ file, name: fullName, reason }));
    });

if (command === 'failed') {
  const report = read(path);
  const files = report === undefined ? [] : failuresOf(report).map(({ file }) => file);
  process.stdout.write(`${[...new Set(files)].join(' ')}\n`);
} else {
  let [passed, failed] = [0, 0];
  // Each run has a log, also one that did not come to a report.
  const logs = readdirSync(path).filter((name) => name.endsWith('.log'));
  for (const name of logs.map((log) => log.replace('.log', ''))) {
    const report = read(join(path, `${name}.json`));
    const failures = report === undefined ? [] : failuresOf(report);
    const again = read(join(path, `${name}.again.json`));
    for (const { file, name: test, reason } of failures) {
      const isFlaky =
        again !== undefined && !failuresOf(again).some((each) => each.file === file && each.name === test);
      const [line] = reason.split('\n');
      process.stdout.write(`${isFlaky ? 'flaky' : 'failed'}: ${file}: ${test}: ${line}\n`);
    }
    failed += failures.length;
    if (report !== undefined) passed += report.numPassedTests;
    // An error outside of all tests, or a runner that ended before.
    if (failures.length > 0 || (report?.success && report.numPassedTests > 0)) continue;
    const words = readFileSync(join(path, `${name}.log`), 'utf8').split('\n');
    process.stdout.write(`failed: ${name}, outside of all tests:\n${words.slice(-40).join('\n')}\n`);
    failed += 1;
  }
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  process.exitCode = failed > 0 || logs.length === 0 ? 1 : 0;
}
