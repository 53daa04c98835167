/** Tasks that look for something: in many files, in a long log, in the history, in instructions, in the code. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { git, writeFiles } from '../../test/_git.ts'
import { answer, call, commitAll, createRepository, expect, run, type Task } from '../task.ts'

const GROUPS = 40
const CAUSE = 'services/group-17/service-33.yaml'

const manyFiles: Task = {
  id: 'many-files',
  what: 'finds the cause in 20 000 files',
  prompt:
    'One of the definitions below services/ switches the check of TLS certificates off. Which file is it? Answer with its path; change nothing.',
  setup(workspace, size) {
    const perGroup = Math.max(40, Math.round((20_000 * size) / GROUPS))
    for (let group = 0; group < GROUPS; group++) {
      const dir = join(workspace, 'services', `group-${group}`)
      mkdirSync(dir, { recursive: true })
      for (let at = 0; at < perGroup; at++) {
        const isCause = `services/group-${group}/service-${at}.yaml` === CAUSE
        writeFileSync(
          join(dir, `service-${at}.yaml`),
          `name: service-${group}-${at}\nreplicas: ${1 + (at % 3)}\ntls:\n  verify: ${isCause ? 'false' : 'true'}\n`,
        )
      }
    }
  },
  script: [
    run('ls services | head -3'),
    call('search_files', { pattern: 'verify:\\s*(false|no|off)', path: 'services' }),
    answer(`It is ${CAUSE}.`),
  ],
  check: ({ answer: text }) => expect(text.includes(CAUSE), `The answer is “${text}”.`),
}

const FAILURES = 37

const longLog: Task = {
  id: 'long-log',
  what: 'reads a log that does not fit into the context',
  prompt:
    'app.log is long. What is the id of the first request that ended with status 500, and how many requests ended so? Change nothing.',
  setup(workspace, size) {
    mkdirSync(workspace, { recursive: true })
    const lines = Math.max(20_000, Math.round(200_000 * size))
    const every = Math.floor(lines / (FAILURES + 1))
    const text = Array.from({ length: lines }, (_, at) => {
      const failed = at > 0 && at % every === 0 && at / every <= FAILURES
      const id = failed ? `req-f${String(at / every).padStart(3, '0')}` : `req-${at}`
      return `2026-03-02T10:00:00Z ${id} GET /items/${at % 500} status=${failed ? 500 : 200} ms=${at % 90}`
    })
    writeFileSync(join(workspace, 'app.log'), `${text.join('\n')}\n`)
  },
  script: [
    run("grep -m1 'status=500' app.log; grep -c 'status=500' app.log"),
    answer(`The first is req-f001; ${FAILURES} requests ended with status 500.`),
  ],
  check({ answer: text }) {
    expect(text.includes('req-f001'), `The request is not named: “${text}”`)
    expect(text.includes(String(FAILURES)), `The count is not named: “${text}”`)
  },
}

const COMMITS = 12
const BAD = 8

const firstBadCommit: Task = {
  id: 'first-bad-commit',
  what: 'works with the history',
  prompt:
    'node check.js works in the first commit of this repository and fails in the newest. Which commit broke it? Answer with its hash, and leave the checkout as it is.',
  setup(workspace) {
    createRepository(workspace, {
      'package.json': '{ "type": "module" }\n',
      'check.js':
        "import { total } from './total.js'\nif (total([1, 2, 3]) !== 6) throw new Error('wrong total')\n",
      'total.js': 'export const total = list => list.reduce((sum, one) => sum + one, 0)\n',
    })
    for (let at = 1; at < COMMITS; at++) {
      writeFiles(workspace, { [`notes/${at}.md`]: `Note ${at}\n` })
      if (at === BAD)
        writeFiles(workspace, {
          'total.js': 'export const total = list => list.reduce((sum, one) => sum + one, 1)\n',
        })
      commitAll(workspace, `Change ${at}`)
    }
  },
  script: [
    run('git log --oneline | wc -l; git status --short'),
    run(
      'git bisect start HEAD "$(git rev-list --max-parents=0 HEAD)" && git bisect run node check.js | grep "is the first"; git bisect reset',
    ),
    ({ result }) =>
      answer(`${/([0-9a-f]{40}) is the first/.exec(result)?.[1] ?? 'No commit'} broke it.`),
  ],
  check({ answer: text, workspace, git: runGit }) {
    const bad = git(workspace, 'log', '--format=%H', `--grep=^Change ${BAD}$`)
    expect(text.includes(bad.slice(0, 7)), `The answer is “${text}”.`)
    expect(runGit('status', '--porcelain') === '', 'The checkout was changed.')
    expect(runGit('branch', '--show-current') === 'main', 'It is no longer on main.')
  },
}

const LICENSE = '// SPDX-License-Identifier: MIT'

const instructions: Task = {
  id: 'instructions',
  what: 'follows AGENTS.md',
  prompt: 'Add src/clamp.js with a function clamp(value, min, max).',
  setup: workspace =>
    createRepository(workspace, {
      'package.json': '{ "type": "module" }\n',
      'AGENTS.md': `# Rules\n\n- Each source file begins with the line \`${LICENSE}\`.\n- Each exported function is listed in docs/api.md, in alphabetical order.\n`,
      'docs/api.md':
        '# Functions\n\n- `add(a, b)`: the sum\n- `round(value)`: the nearest integer\n',
      'src/add.js': `${LICENSE}\nexport const add = (a, b) => a + b\n`,
      'src/round.js': `${LICENSE}\nexport const round = value => Math.round(value)\n`,
    }),
  script: [
    call('read_file', { path: 'docs/api.md' }),
    {
      toolCalls: [
        {
          name: 'write_file',
          arguments: {
            path: 'src/clamp.js',
            content: `${LICENSE}\nexport const clamp = (value, min, max) => Math.min(Math.max(value, min), max)\n`,
          },
        },
        {
          name: 'patch',
          arguments: {
            path: 'docs/api.md',
            old_string: '- `round(value)`',
            new_string: '- `clamp(value, min, max)`: the value within its limits\n- `round(value)`',
          },
        },
      ],
    },
    run(
      'node -e "import(\'./src/clamp.js\').then(({ clamp }) => console.log(clamp(9, 1, 5), clamp(0, 1, 5)))"',
    ),
    answer('src/clamp.js is there, with the license line, and listed in docs/api.md.'),
  ],
  check({ read }) {
    expect(read('src/clamp.js').startsWith(`${LICENSE}\n`), 'The license line is missing.')
    const names = [...read('docs/api.md').matchAll(/^- `(\w+)/gm)].map(match => match[1])
    expect(names.join() === 'add,clamp,round', `docs/api.md lists ${names.join(', ')}.`)
  },
}

const question: Task = {
  id: 'question',
  what: 'answers from the code and changes nothing',
  prompt:
    'On which port does this server listen by default, and which environment variable changes that? Change nothing.',
  setup: workspace =>
    createRepository(workspace, {
      'README.md': '# Demo\n\nA server. It used to listen on port 8080.\n',
      'src/config.js':
        'const DEFAULT_PORT = 7070\n\nexport const config = { port: Number(process.env.DEMO_HTTP_PORT ?? DEFAULT_PORT) }\n',
      'src/server.js':
        "import { createServer } from 'node:http'\nimport { config } from './config.js'\n\ncreateServer((_, res) => res.end('ok')).listen(config.port)\n",
    }),
  script: [
    call('search_files', { pattern: 'port', path: '.' }),
    call('read_file', { path: 'src/config.js' }),
    answer('It listens on port 7070; DEMO_HTTP_PORT changes that.'),
  ],
  check({ answer: text, git: runGit }) {
    expect(text.includes('7070'), `The port is not named: “${text}”`)
    expect(text.includes('DEMO_HTTP_PORT'), `The variable is not named: “${text}”`)
    expect(runGit('status', '--porcelain') === '', 'Something was changed.')
  },
}

export const SEARCH_TASKS: readonly Task[] = [
  manyFiles,
  longLog,
  firstBadCommit,
  instructions,
  question,
]
