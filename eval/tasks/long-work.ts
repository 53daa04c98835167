/** Long work: forty steps and more that change something, where each step needs what earlier ones have left. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeFiles } from '../../test/_git.ts'
import {
  answer,
  call,
  calls,
  createRepository,
  expect,
  replaceIn,
  run,
  type Task,
} from '../task.ts'
import { numbers, outputOf } from './results.ts'

const MODULE = '{ "type": "module" }\n'
const HANDLERS = numbers(20)

const handlerText = (at: number, log: string): string =>
  `import { log } from './log.js'\n\nexport const handle${at} = id => {\n  ${log}('handle ${at}', id)\n  return id + ${at}\n}\n`

const editMany: Task = {
  id: 'edit-many',
  what: 'edits twenty files one by one and loses none of the edits',
  prompt:
    'In src/handler-*.js replace console.log by log.info, and nothing else. Read each file first. node src/main.js must still work.',
  setup: workspace =>
    createRepository(workspace, {
      'package.json': MODULE,
      'src/log.js': "export const log = { info: (...words) => console.log('INFO', ...words) }\n",
      'src/main.js': `${HANDLERS.map(at => `import { handle${at} } from './handler-${at}.js'`).join('\n')}\n\nconsole.log([${HANDLERS.map(at => `handle${at}`).join(', ')}].reduce((sum, handle) => handle(sum), 0))\n`,
      ...Object.fromEntries(
        HANDLERS.map(at => [`src/handler-${at}.js`, handlerText(at, 'console.log')]),
      ),
    }),
  script: [
    ...HANDLERS.flatMap(at => {
      const path = `src/handler-${at}.js`
      const old = `console.log('handle ${at}', id)`
      const now = `log.info('handle ${at}', id)`
      return [
        call('read_file', { path }),
        at % 2 === 0
          ? call('patch', { mode: 'replace', path, old_string: old, new_string: now })
          : call('patch', {
              mode: 'patch',
              patch: `*** Begin Patch\n*** Update File: ${path}\n@@\n-  ${old}\n+  ${now}\n*** End Patch`,
            }),
      ]
    }),
    run('node src/main.js | tail -1; git diff --stat | tail -1'),
    ({ result }) => {
      expect(outputOf(result).startsWith('190\n'), 'main.js prints something else.')
      return answer('All twenty handlers use log.info now, and main.js still prints 190.')
    },
  ],
  check({ read, node }) {
    for (const at of HANDLERS)
      expect(read(`src/handler-${at}.js`) === handlerText(at, 'log.info'), `Handler ${at} differs.`)
    expect(node('src/main.js').output.includes('INFO handle 19'), 'main.js no longer works.')
  },
}

const RULES = numbers(13)

const oneByOne: Task = {
  id: 'one-by-one',
  what: 'follows a test that names one failure at a time to the end',
  prompt:
    'node check.js stops at the first wrong rule. Correct rules.js until it passes; each rule n must return n * n. Do not change check.js.',
  setup: workspace =>
    createRepository(workspace, {
      'package.json': MODULE,
      'rules.js': RULES.map(at => `export const rule${at} = () => ${at} + ${at} + 1\n`).join(''),
      'check.js': `import * as rules from './rules.js'\n\nfor (const [name, rule] of Object.entries(rules).sort(([a], [b]) => a.slice(4) - b.slice(4))) {\n  const wanted = Number(name.slice(4)) ** 2\n  if (rule() !== wanted) throw new Error(name + ' returns ' + rule() + ' instead of ' + wanted)\n}\nconsole.log('all right')\n`,
    }),
  script: [
    ...RULES.flatMap(at => [
      run('node check.js'),
      ({ result }: { result: string }) => {
        const { exit_code: code } = JSON.parse(result)
        const name = /Error: (rule\d+) returns/.exec(outputOf(result))?.[1]
        expect(code === 1 && name === `rule${at}`, `The output names ${name}, not rule${at}.`)
        return call('search_files', { pattern: `\\b${name}\\b`, path: 'rules.js' })
      },
      call('patch', {
        path: 'rules.js',
        old_string: `rule${at} = () => ${at} + ${at} + 1`,
        new_string: `rule${at} = () => ${at} * ${at}`,
      }),
    ]),
    run('node check.js'),
    ({ result }) => answer(`check.js says: ${outputOf(result).trim()}.`),
  ],
  check({ node, answer: text, git }) {
    expect(node('check.js').output === 'all right\n', 'check.js still fails.')
    expect(text.includes('all right'), `The answer is “${text}”.`)
    expect(git('diff', '--name-only') === 'rules.js', 'Another file was changed.')
  },
}

const CHAPTERS = numbers(12)

const commits: Task = {
  id: 'commits',
  what: 'makes a history of many commits, where git would open an editor twice',
  prompt:
    'In each chapter-n.md replace TODO by the sentence "Chapter n is done." and commit each alone as "Finish chapter n". Then add all chapters to index.md, one per line, amend the last commit with that, and squash nothing. Show me the log.',
  setup: workspace =>
    createRepository(
      workspace,
      Object.fromEntries(CHAPTERS.map(at => [`chapter-${at}.md`, `# ${at}\n\nTODO\n`])),
    ),
  script: [
    run('git config user.name a && git config user.email a@example.invalid'),
    ...CHAPTERS.flatMap(at => [
      call('patch', {
        path: `chapter-${at}.md`,
        old_string: 'TODO',
        new_string: `Chapter ${at} is done.`,
      }),
      run(`git commit -q -am 'Finish chapter ${at}' && git log -1 --format=%s`),
      ({ result }: { result: string }) => {
        expect(outputOf(result) === `Finish chapter ${at}\n`, `Commit ${at} is missing.`)
        return run(`git show --stat --format=%s HEAD; git status --short; echo ${at}`)
      },
    ]),
    run('ls chapter-*.md | sort -V > index.md && git add index.md && git commit -q --amend'),
    ({ result }) => {
      expect(JSON.parse(result).exit_code === 0, 'The commit was not amended.')
      return run('git rebase -q -i HEAD~3 && git log --format=%s')
    },
    ({ result }) => answer(outputOf(result)),
  ],
  check({ git, answer: text, read }) {
    const wanted = [...CHAPTERS.map(at => `Finish chapter ${at}`).toReversed(), 'Start']
    expect(git('log', '--format=%s') === wanted.join('\n'), 'The history is another one.')
    expect(text.trim() === wanted.join('\n'), 'The answer is not the log.')
    expect(git('status', '--porcelain') === '', 'Something is not committed.')
    expect(read('index.md').trim().split('\n').length === CHAPTERS.length, 'index.md is wrong.')
    expect(git('show', '--stat', '--format=', 'HEAD').includes('index.md'), 'It was not amended.')
  },
}

const CONFIGS = numbers(20)

const brokenBuild: Task = {
  id: 'broken-build',
  what: 'repeats a failing command until it no longer fails',
  prompt:
    'node build.js fails. Create what it asks for, one file at a time, until it builds. What does it print in the end?',
  setup: workspace =>
    createRepository(workspace, {
      'build.js': `const { existsSync, readFileSync } = require('node:fs')\nlet sum = 0\nfor (let at = 0; at < ${CONFIGS.length}; at++) {\n  const path = 'config/part-' + at + '.json'\n  if (!existsSync(path)) {\n    console.error('error E' + (100 + at) + ': ' + path + ' is missing; it needs {"size": ' + at * 3 + '}')\n    process.exit(2)\n  }\n  sum += JSON.parse(readFileSync(path, 'utf8')).size\n}\nconsole.log('built ' + sum)\n`,
    }),
  script: [
    ...CONFIGS.flatMap(at => [
      run('node build.js'),
      ({ result }: { result: string }) => {
        const { exit_code: code } = JSON.parse(result)
        const found = /error E(\d+): (\S+) is missing; it needs (\{.*\})/.exec(outputOf(result))
        expect(code === 2 && found?.[1] === String(100 + at), `Error E${100 + at} is not there.`)
        return call('write_file', { path: found?.[2], content: `${found?.[3]}\n` })
      },
    ]),
    run('node build.js'),
    ({ result }) => answer(`It prints: ${outputOf(result).trim()}`),
  ],
  check({ node, answer: text }) {
    expect(node('build.js').output === 'built 570\n', 'It does not build.')
    expect(text.includes('built 570'), `The answer is “${text}”.`)
  },
}

const DIGITS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine']
const digitsOf = (number: number): string =>
  [...String(number)].map(digit => DIGITS[Number(digit)]).join(' ')

const PARTS = numbers(20)
const entryOf = (at: number, status: string) => ({
  id: `p${at}`,
  content: `Write part ${at}`,
  status,
})

const todoList: Task = {
  id: 'todo-list',
  what: 'keeps a list of twenty entries over a restart of the service',
  prompt:
    'Write part-0.txt to part-19.txt, each with its number in words of digits (“one seven”). Keep a list of what is done. Then list them in index.txt.',
  setup: workspace => writeFiles(workspace, { 'README.md': '# Parts\n' }),
  killAfter: 25,
  script: [
    call('todo', {
      todos: PARTS.map(at => entryOf(at, at === 0 ? 'in_progress' : 'pending')),
    }),
    ...PARTS.flatMap(at => [
      call('write_file', { path: `part-${at}.txt`, content: `${digitsOf(at)}\n` }),
      call('todo', {
        merge: true,
        todos: [
          entryOf(at, 'completed'),
          ...(at + 1 < PARTS.length ? [entryOf(at + 1, 'in_progress')] : []),
        ],
      }),
    ]),
    ({ result }) => {
      const { total, completed } = JSON.parse(result).summary
      expect(total === 20 && completed === 20, `${completed} of ${total} entries are completed.`)
      return run('ls part-*.txt | sort -V > index.txt; wc -l < index.txt')
    },
    ({ result }) => answer(`${outputOf(result).trim()} parts are written and listed.`),
  ],
  check({ read, answer: text }) {
    for (const at of PARTS)
      expect(read(`part-${at}.txt`) === `${digitsOf(at)}\n`, `part-${at}.txt is wrong.`)
    expect(
      read('index.txt') === PARTS.map(at => `part-${at}.txt\n`).join(''),
      'index.txt is wrong.',
    )
    expect(text.includes('20 parts'), `The answer is “${text}”.`)
  },
}

const SECTIONS = numbers(21)
const PER_TURN = 7

/** What the user does in an editor while the agent works: another line of the same file, and a file of their own. */
const editAsUser = (workspace: string, at: number): void => {
  replaceIn(workspace, 'plan.md', `user ${at}: open`, `user ${at}: my own words`)
  appendFileSync(join(workspace, 'diary.md'), `day ${at}\n`)
}

const besideTheUser: Task = {
  id: 'beside-the-user',
  what: 'edits a file that the user edits at the same time, over three messages',
  prompt: 'In plan.md set “agent n” to done for n from 0 to 6. I am editing this file as well.',
  followUps: ['Now 7 to 13.', 'And 14 to 20. What have I changed meanwhile?'],
  setup: workspace =>
    createRepository(workspace, {
      'plan.md': SECTIONS.map(at => `## ${at}\nagent ${at}: open\nuser ${at}: open\n`).join('\n'),
      'diary.md': '# Diary\n',
    }),
  script: SECTIONS.flatMap(at => [
    call('read_file', { path: 'plan.md', offset: at * 4 + 1, limit: 4 }),
    ({ workspace, result }: { workspace: string; result: string }) => {
      expect(result.includes(`agent ${at}: open`), `Section ${at} was not read.`)
      editAsUser(workspace, at)
      return call('patch', {
        path: 'plan.md',
        old_string: `agent ${at}: open`,
        new_string: `agent ${at}: done`,
      })
    },
    ...((at + 1) % PER_TURN === 0
      ? [answer(`Sections up to ${at} are done; your lines “my own words” and diary.md are yours.`)]
      : []),
  ]),
  check({ read, answer: text }) {
    const plan = SECTIONS.map(at => `## ${at}\nagent ${at}: done\nuser ${at}: my own words\n`)
    expect(read('plan.md') === plan.join('\n'), 'A change in plan.md was lost.')
    expect(read('diary.md').split('\n').length === 23, 'A change in diary.md was lost.')
    expect(text.includes('up to 20'), `The answer is “${text}”.`)
  },
}

const GROUPS = numbers(13)
const goalOf = (group: number, at: number): string =>
  `Add up the numbers of data/group-${group}/${at}.txt and answer with the sum alone.`
const valuesOf = (group: number, at: number): number[] => [group * 10 + at, at + 1, 5]
const sumOf = (group: number, at: number): number =>
  valuesOf(group, at).reduce((sum, value) => sum + value)

const subagents: Task = {
  id: 'subagents',
  what: 'gives 39 tasks to subagents, three at a time, and gets each answer',
  prompt:
    'For each directory data/group-n have a subagent add up each file, and write the three sums to sums-n.txt, one per line. Tell me the sum of all.',
  setup: workspace =>
    writeFiles(
      workspace,
      Object.fromEntries(
        GROUPS.flatMap(group =>
          [0, 1, 2].map(at => [
            `data/group-${group}/${at}.txt`,
            `${valuesOf(group, at).join('\n')}\n`,
          ]),
        ),
      ),
    ),
  subagents: Object.fromEntries(
    GROUPS.flatMap(group =>
      [0, 1, 2].map(at => [
        goalOf(group, at),
        [
          run(`awk '{s+=$1} END {print s}' data/group-${group}/${at}.txt`),
          ({ result }: { result: string }) => answer(outputOf(result).trim()),
        ],
      ]),
    ),
  ),
  script: [
    ...GROUPS.flatMap(group => [
      call('delegate_task', { tasks: [0, 1, 2].map(at => ({ goal: goalOf(group, at) })) }),
      ({ result }: { result: string }) => {
        const { results } = JSON.parse(result) as { results: { summary: string }[] }
        const sums = results.map(({ summary }) => summary)
        const wanted = [0, 1, 2].map(at => String(sumOf(group, at)))
        expect(sums.join() === wanted.join(), `Group ${group} has the sums ${sums.join(', ')}.`)
        return call('write_file', { path: `sums-${group}.txt`, content: `${sums.join('\n')}\n` })
      },
      calls(run(`wc -l < sums-${group}.txt`), call('read_file', { path: `sums-${group}.txt` })),
    ]),
    run("cat sums-*.txt | awk '{s+=$1} END {print s}'"),
    ({ result }) => answer(`The sum of all is ${outputOf(result).trim()}.`),
  ],
  check({ read, answer: text }) {
    let total = 0
    for (const group of GROUPS) {
      const sums = [0, 1, 2].map(at => sumOf(group, at))
      total += sums.reduce((sum, one) => sum + one)
      expect(read(`sums-${group}.txt`) === `${sums.join('\n')}\n`, `sums-${group}.txt is wrong.`)
    }
    expect(text.includes(` ${total}.`), `The answer is “${text}”.`)
  },
}

export const LONG_WORK_TASKS: readonly Task[] = [
  editMany,
  oneByOne,
  commits,
  brokenBuild,
  todoList,
  besideTheUser,
  subagents,
]
