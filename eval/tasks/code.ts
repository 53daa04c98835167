/** Tasks that change code: a failing test, a rename, a new option, new tests, a merge conflict. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { git } from '../../test/_git.ts'
import {
  answer,
  call,
  commitAll,
  createRepository,
  expect,
  replaceIn,
  run,
  type Outcome,
  type Task,
} from '../task.ts'

const MODULE = '{ "type": "module", "scripts": { "test": "node --test" } }\n'

const RANGE_TEST = `import assert from 'node:assert/strict'
import test from 'node:test'
import { range } from './range.js'

test('counts up to the end', () => assert.deepEqual(range(2, 5), [2, 3, 4, 5]))
test('has one element', () => assert.deepEqual(range(3, 3), [3]))
test('is empty when the end is before the start', () => assert.deepEqual(range(5, 2), []))
`

const failingTest: Task = {
  id: 'failing-test',
  what: 'fixes the code, not the test',
  prompt: 'The tests fail. Find out why, fix the code, and run the tests again.',
  setup: workspace =>
    createRepository(workspace, {
      'package.json': MODULE,
      'src/range.js':
        '/** The integers from `start` to `end`, both included. */\nexport const range = (start, end) =>\n  Array.from({ length: Math.max(0, end - start) }, (_, at) => start + at)\n',
      'src/range.test.js': RANGE_TEST,
    }),
  script: [
    run('node --test'),
    call('read_file', { path: 'src/range.js' }),
    call('patch', {
      path: 'src/range.js',
      old_string: 'Math.max(0, end - start)',
      new_string: 'Math.max(0, end - start + 1)',
    }),
    run('node --test'),
    answer('The end was left out. It is included now, and all three tests pass.'),
  ],
  check({ node, read }) {
    expect(read('src/range.test.js') === RANGE_TEST, 'The test was changed.')
    expect(node('--test').code === 0, 'The tests still fail.')
  },
}

const USERS = ['orders', 'invoices', 'mails', 'reports', 'search', 'archive', 'audit', 'roles']

const rename: Task = {
  id: 'rename',
  what: 'renames over many files and leaves similar names alone',
  prompt:
    'Rename the function getUser to fetchUser wherever it is defined or used. Change nothing else, and check that node src/main.js still works.',
  setup(workspace) {
    const modules = USERS.map(name => [
      `src/${name}.js`,
      `import { getUser, getUserName } from './api.js'\n\n// Calls getUser once.\nexport const ${name} = id => [getUser(id).id, getUserName(id)].join(':')\n`,
    ])
    const imports = USERS.map(name => `import { ${name} } from './${name}.js'`).join('\n')
    createRepository(workspace, {
      'package.json': MODULE,
      'src/api.js':
        'export const getUser = id => ({ id, name: "user " + id })\nexport const getUserName = id => getUser(id).name\n',
      'src/main.js': `${imports}\n\nconsole.log([${USERS.join(', ')}].map(use => use(7)).join(' '))\n`,
      ...Object.fromEntries(modules),
    })
  },
  script: [
    call('search_files', { pattern: '\\bgetUser\\b', output_mode: 'count' }),
    run("sed -i 's/\\bgetUser\\b/fetchUser/g' src/*.js"),
    call('search_files', { pattern: '\\b(getUser|fetchUser)\\b' }),
    run('node src/main.js && git diff --stat'),
    answer('Renamed in nine files; getUserName is unchanged and main.js still works.'),
  ],
  check({ node, read, git: runGit }) {
    const sources = ['api', 'main', ...USERS].map(name => read(`src/${name}.js`)).join('\n')
    expect(!/\bgetUser\b/.test(sources), 'getUser is still used.')
    expect(sources.match(/\bgetUserName\b/g)?.length === 17, 'getUserName was changed.')
    expect(sources.match(/\bfetchUser\b/g)?.length === 26, 'fetchUser is missing somewhere.')
    expect(node('src/main.js').output.startsWith('7:user 7 7:user 7'), 'main.js no longer works.')
    const changed = runGit('diff', '--name-only').split('\n')
    expect(changed.length === 9, `${changed.length} files were changed instead of 9.`)
  },
}

const addOption: Task = {
  id: 'add-option',
  what: 'extends a program without breaking what it does',
  prompt:
    'Give cli.js an option --json that prints {"files": n, "bytes": n} instead of the sentence. Without the option nothing may change. Try both.',
  setup: workspace =>
    createRepository(workspace, {
      'package.json': MODULE,
      'cli.js':
        "import { readdirSync, statSync } from 'node:fs'\n\nconst dir = process.argv[2] ?? '.'\nconst sizes = readdirSync(dir).map(name => statSync(dir + '/' + name).size)\nconst bytes = sizes.reduce((sum, size) => sum + size, 0)\n\nconsole.log(sizes.length + ' files, ' + bytes + ' bytes')\n",
      'sample/a.txt': 'hello',
      'sample/b.txt': 'world!',
    }),
  script: [
    call('read_file', { path: 'cli.js' }),
    call('patch', {
      path: 'cli.js',
      old_string: "const dir = process.argv[2] ?? '.'",
      new_string:
        "const args = process.argv.slice(2)\nconst asJson = args.includes('--json')\nconst dir = args.find(arg => arg !== '--json') ?? '.'",
    }),
    call('patch', {
      path: 'cli.js',
      old_string: "console.log(sizes.length + ' files, ' + bytes + ' bytes')",
      new_string:
        "console.log(\n  asJson ? JSON.stringify({ files: sizes.length, bytes }) : sizes.length + ' files, ' + bytes + ' bytes',\n)",
    }),
    run('node cli.js sample && node cli.js sample --json && node cli.js --json sample'),
    answer('cli.js has --json now; without it the output is the same as before.'),
  ],
  check({ node }) {
    expect(node('cli.js', 'sample').output === '2 files, 11 bytes\n', 'The sentence changed.')
    for (const args of [
      ['sample', '--json'],
      ['--json', 'sample'],
    ])
      expect(
        node('cli.js', ...args).output.trim() === '{"files":2,"bytes":11}',
        `${args.join(' ')} prints something else.`,
      )
  },
}

const SLUG =
  "export const slug = text =>\n  text\n    .normalize('NFD')\n    .replace(/[\\u0300-\\u036f]/g, '')\n    .toLowerCase()\n    .replace(/[^a-z0-9]+/g, '-')\n    .replace(/^-+|-+$/g, '')\n"

const SLUG_TEST = `import assert from 'node:assert/strict'
import test from 'node:test'
import { slug } from './slug.js'

test('drops accents', () => assert.equal(slug('Crème Brûlée'), 'creme-brulee'))
test('joins words with one dash', () => assert.equal(slug('a  -- b'), 'a-b'))
test('has no dash at either end', () => assert.equal(slug('  (hello)  '), 'hello'))
test('is empty for nothing', () => assert.equal(slug(''), ''))
test('is lower case', () => assert.equal(slug('ABC'), 'abc'))
`

const addTests: Task = {
  id: 'add-tests',
  what: 'writes tests that can fail',
  prompt:
    'Write slug.test.js for slug.js with node:test. Cover accents, repeated separators, separators at both ends, upper case and the empty text. Do not change slug.js.',
  setup: workspace => createRepository(workspace, { 'package.json': MODULE, 'slug.js': SLUG }),
  script: [
    call('read_file', { path: 'slug.js' }),
    call('write_file', { path: 'slug.test.js', content: SLUG_TEST }),
    run('node --test'),
    answer('slug.test.js has five tests, and they pass.'),
  ],
  check(outcome) {
    expect(outcome.read('slug.js') === SLUG, 'slug.js was changed.')
    expect(outcome.node('--test').code === 0, 'The tests fail on the right code.')
    for (const part of [
      "\n    .replace(/[\\u0300-\\u036f]/g, '')",
      '\n    .toLowerCase()',
      "\n    .replace(/^-+|-+$/g, '')",
    ])
      expectMutantFound(outcome, part)
  },
}

const expectMutantFound = ({ workspace, node }: Outcome, part: string): void => {
  replaceIn(workspace, 'slug.js', part, '')
  const { code } = node('--test')
  writeFileSync(join(workspace, 'slug.js'), SLUG)
  expect(code !== 0, `The tests pass without ${part.trim()}`)
}

const LIMITS = (rate: number, extra = '') =>
  `export const limits = {\n  rate: ${rate},\n  burst: 20,\n${extra}}\n`

const mergeConflict: Task = {
  id: 'merge-conflict',
  what: 'keeps both sides of a conflict',
  prompt:
    'The merge of the branch timeouts has a conflict. Resolve it so that both changes are kept, and run node check.js. Do not commit.',
  setup(workspace) {
    createRepository(workspace, {
      'package.json': MODULE,
      'limits.js': LIMITS(100),
      'check.js':
        "import { limits } from './limits.js'\nif (limits.rate !== 250 || limits.timeout !== 30) throw new Error(JSON.stringify(limits))\nconsole.log('ok')\n",
    })
    git(workspace, 'checkout', '--quiet', '-b', 'timeouts')
    writeFileSync(
      join(workspace, 'limits.js'),
      LIMITS(100, '  timeout: 30,\n').replace('burst: 20', 'burst: 25'),
    )
    commitAll(workspace, 'Add a timeout')
    git(workspace, 'checkout', '--quiet', 'main')
    writeFileSync(join(workspace, 'limits.js'), LIMITS(250))
    commitAll(workspace, 'Raise the rate')
    try {
      git(workspace, 'merge', 'timeouts')
    } catch {
      // The conflict is the task.
    }
  },
  script: [
    run('git status --short'),
    call('read_file', { path: 'limits.js' }),
    call('write_file', {
      path: 'limits.js',
      content: LIMITS(250, '  timeout: 30,\n').replace('burst: 20', 'burst: 25'),
    }),
    run('node check.js && git diff'),
    answer('Both are kept: the rate of 250, and the timeout of 30 with a burst of 25.'),
  ],
  check({ node, read, git: runGit }) {
    const text = read('limits.js')
    expect(!/^[<>=]{7}/m.test(text), 'Conflict markers are left.')
    expect(node('check.js').output === 'ok\n', 'check.js fails.')
    expect(text.includes('burst: 25'), 'The burst of the branch is lost.')
    expect(runGit('log', '--oneline').split('\n').length === 2, 'It was committed.')
  },
}

export const CODE_TASKS: readonly Task[] = [failingTest, rename, addOption, addTests, mergeConflict]
