// Reads vitest's JSON reports for .ci/run.
//   failed FILE   prints the test files with failures, and on stderr each failed test with its first line
//   count FOLDER  prints what needed a second run or failed in it, then "N passed, N failed"; exits with 1 if any failed
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const [command, path] = process.argv.slice(2);
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
const failuresOf = ({ testResults }) =>
  testResults
    .filter(({ status }) => status === 'failed')
    .map(({ name, message, assertionResults }) => ({
      file: relative(process.cwd(), name),
      tests: assertionResults.filter(({ status }) => status === 'failed'),
      message,
    }));
const describe = ({ file, tests, message }) =>
  tests.length === 0
    ? [`${file}: ${message}`]
    : tests.map(
        ({ fullName, failureMessages: [reason = ''] }) => `${file}: ${fullName}: ${reason.split('\n')[0]}`,
      );

if (command === 'failed') {
  const failures = failuresOf(read(path));
  for (const line of failures.flatMap(describe)) process.stderr.write(`failed: ${line}\n`);
  process.stdout.write(`${failures.map(({ file }) => file).join(' ')}\n`);
} else {
  const files = readdirSync(path);
  const reports = files.filter((name) => name.endsWith('.json'));
  const names = new Set(reports.map((name) => name.replace('.again.json', '.json')));
  let [passed, failed] = [0, 0];
  for (const name of names) {
    // A run that did not begin has only its repetition.
    const runs = [name, name.replace('.json', '.again.json')].filter((each) => reports.includes(each));
    const [first, again = first] = runs.map((each) => read(join(path, each)));
    if (again !== first)
      for (const line of failuresOf(first).flatMap(describe))
        process.stdout.write(`failed at first: ${line}\n`);
    for (const line of failuresOf(again).flatMap(describe)) process.stdout.write(`failed: ${line}\n`);
    const ran = first.numTotalTests - first.numPendingTests - (first.numTodoTests ?? 0);
    const failures = Math.max(again.numFailedTests, again.success && ran > 0 ? 0 : 1);
    passed += ran - Math.min(failures, ran);
    failed += failures;
  }
  for (const name of files.filter((name) => /\.outside(-again)?$/.test(name))) {
    const isAgain = name.endsWith('-again');
    const when = isAgain ? 'failed twice' : 'failed at first';
    process.stdout.write(`${when}, outside of all tests:\n${readFileSync(join(path, name), 'utf8')}\n`);
    failed += isAgain ? 1 : 0;
  }
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  process.exitCode = failed > 0 || names.size === 0 ? 1 : 0;
}
