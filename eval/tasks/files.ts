/** Tasks about files that are easily damaged: other encodings, large files, data, comments, notebooks, odd names. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeFiles } from '../../test/_git.ts'
import { answer, call, createRepository, expect, run, type Task } from '../task.ts'

const LATIN1 =
  '; Müller & Söhne, Köln\r\n[drucker]\r\nname = Büro\r\nseiten = 20\r\n\r\n[scanner]\r\nname = Küche\r\nseiten = 20\r\n'

const latin1: Task = {
  id: 'latin-1',
  what: 'edits a Latin-1 file with CRLF and changes no other byte',
  prompt: 'In geraete.ini set seiten of the scanner to 50.',
  setup(workspace) {
    mkdirSync(workspace, { recursive: true })
    writeFileSync(join(workspace, 'geraete.ini'), LATIN1, 'latin1')
  },
  script: [
    call('read_file', { path: 'geraete.ini' }),
    call('patch', {
      path: 'geraete.ini',
      old_string: 'name = Küche\nseiten = 20',
      new_string: 'name = Küche\nseiten = 50',
    }),
    answer('The scanner has 50 pages now.'),
  ],
  check: ({ read }) =>
    expect(
      read('geraete.ini', 'latin1') ===
        LATIN1.replace('Küche\r\nseiten = 20', 'Küche\r\nseiten = 50'),
      'Other bytes changed.',
    ),
}

const limitsText = (): string =>
  Array.from({ length: 150_000 }, (_, at) => `region-${at},limit,${at % 97},standard,enabled`).join(
    '\n',
  )

const largeFile: Task = {
  id: 'large-file',
  what: 'changes one line of a file of several megabytes',
  prompt: 'In limits.csv set the limit (third column) of region-1417 to 250.',
  setup(workspace) {
    mkdirSync(workspace, { recursive: true })
    writeFileSync(join(workspace, 'limits.csv'), limitsText())
  },
  script: [
    call('search_files', { pattern: '^region-1417,', path: 'limits.csv' }),
    call('patch', {
      path: 'limits.csv',
      old_string: 'region-1417,limit,59,',
      new_string: 'region-1417,limit,250,',
    }),
    answer('region-1417 has a limit of 250 now.'),
  ],
  check: ({ read }) =>
    expect(
      read('limits.csv') ===
        limitsText().replace('region-1417,limit,59,', 'region-1417,limit,250,'),
      'The file is not as it should be.',
    ),
}

const COUNTRIES = ['de', 'fr', 'it', 'us']
const orders = () =>
  Array.from({ length: 5_000 }, (_, at) => ({
    country: COUNTRIES[(at * 7) % 4] ?? '',
    cents: (at * 37) % 5_000,
  }))

const REPORT =
  "import { readFileSync, writeFileSync } from 'node:fs'\nconst totals = {}\nfor (const line of readFileSync('orders.csv', 'utf8').trim().split('\\n').slice(1)) {\n  const [, country, cents] = line.split(';')\n  totals[country] = (totals[country] ?? 0) + Number(cents)\n}\nwriteFileSync('totals.json', JSON.stringify(totals))\n"

const report: Task = {
  id: 'report',
  what: 'computes with a program instead of in its head',
  prompt:
    'orders.csv has the columns id, country and cents. Write totals.json: an object with the sum of cents per country.',
  setup: workspace =>
    writeFiles(workspace, {
      'package.json': '{ "type": "module" }\n',
      'orders.csv': `id;country;cents\n${orders()
        .map(({ country, cents }, at) => `${at};${country};${cents}`)
        .join('\n')}\n`,
    }),
  script: [
    run('head -3 orders.csv; wc -l orders.csv'),
    call('write_file', { path: 'totals.js', content: REPORT }),
    run('node totals.js && cat totals.json && rm totals.js'),
    answer('totals.json has the sums of the four countries.'),
  ],
  check({ read }) {
    const totals = JSON.parse(read('totals.json'))
    for (const name of COUNTRIES) {
      const sum = orders()
        .filter(({ country }) => country === name)
        .reduce((all, { cents }) => all + cents, 0)
      expect(totals[name] === sum, `${name} is ${totals[name]} instead of ${sum}.`)
    }
  },
}

const YAML =
  '# Two programs share this file.\nweb:\n  retries: 3 # the proxy retries, too\n  timeout: 10\n\nworker:\n  # Jobs may be repeated.\n  retries: 3\n  timeout: 60\n'

const comments: Task = {
  id: 'comments',
  what: 'changes the right one of two equal lines and keeps the comments',
  prompt: 'Set retries of the worker to 5 in settings.yaml.',
  setup: workspace => createRepository(workspace, { 'settings.yaml': YAML }),
  script: [
    call('read_file', { path: 'settings.yaml' }),
    call('patch', {
      path: 'settings.yaml',
      old_string: '  # Jobs may be repeated.\n  retries: 3',
      new_string: '  # Jobs may be repeated.\n  retries: 5',
    }),
    answer('The worker has five retries now.'),
  ],
  check: ({ read }) =>
    expect(
      read('settings.yaml') === YAML.replace('repeated.\n  retries: 3', 'repeated.\n  retries: 5'),
      'settings.yaml is not as it should be.',
    ),
}

const cell = (source: string, output: string) => ({
  cell_type: 'code',
  execution_count: 1,
  metadata: {},
  source: source.split(/(?<=\n)/),
  outputs: [{ output_type: 'stream', name: 'stdout', text: [output] }],
})

const NOTEBOOK = {
  nbformat: 4,
  nbformat_minor: 5,
  metadata: { kernelspec: { name: 'python3', display_name: 'Python 3', language: 'python' } },
  cells: [
    { cell_type: 'markdown', metadata: {}, source: ['# Two models\n', 'Which one fits?'] },
    cell('first = fit(linear, data)\nprint(first.r2)', 'R2 = 0.713\n'),
    cell('second = fit(spline, data)\nprint(second.r2)', 'R2 = 0.941\n'),
  ],
}

const notebook: Task = {
  id: 'notebook',
  what: 'reads a notebook with its outputs',
  prompt: 'Which R² does the second model of analysis.ipynb reach? Change nothing.',
  setup: workspace =>
    writeFiles(workspace, { 'analysis.ipynb': JSON.stringify(NOTEBOOK, null, 1) }),
  script: [
    call('read_file', { path: 'analysis.ipynb' }),
    ({ result }) => answer(`It reaches ${/spline[\s\S]*?R2 = ([\d.]+)/.exec(result)?.[1]}.`),
  ],
  check: ({ answer: text }) => expect(/0[.,]941/.test(text), `The answer is “${text}”.`),
}

const NAMES = ['Ärger im Büro (neu).md', '-n.md', 'ein "Zitat".md', 'a\tb.md', 'plain.md']

const oddNames: Task = {
  id: 'odd-names',
  what: 'works with spaces, quotes, dashes and other letters in file names',
  prompt: 'In all Markdown files here replace the word Draft by Final.',
  setup: workspace =>
    writeFiles(
      workspace,
      Object.fromEntries(NAMES.map((name, at) => [name, `# Draft\n\nNote ${at}, not drafty.\n`])),
    ),
  script: [
    call('search_files', { pattern: '\\bDraft\\b', output_mode: 'files_only' }),
    run("find . -name '*.md' -exec sed -i 's/\\bDraft\\b/Final/g' {} +"),
    call('search_files', { pattern: 'Draft|Final' }),
    answer('All five files say Final now.'),
  ],
  check({ workspace }) {
    for (const [at, name] of NAMES.entries())
      expect(
        readFileSync(join(workspace, name), 'utf8') === `# Final\n\nNote ${at}, not drafty.\n`,
        `${name} is not as it should be.`,
      )
  },
}

export const FILE_TASKS: readonly Task[] = [latin1, largeFile, report, comments, notebook, oddNames]
