/** What a group of steps did, in words: 40 turns with the tools of the service, as they were recorded. */
import '../../_jsx.ts'
import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Message } from '../../../lib/schema/message.ts'
import { toRows } from '../../../public/features/transcript/rows.ts'
import { inPlainWords, sayWork } from '../../../public/features/transcript/say-steps.ts'
import { type Catalogs, setLanguage } from '../../../public/strings/t.ts'

const words = suite('page: words of steps')

type Turn = { about: string; messages: Message[] }
const read = (path: string): unknown =>
  JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
const turns = read('../../fixtures/recorded-turns.json') as Turn[]

const said = ({ messages }: Turn): string =>
  toRows({ messages, live: null, finished: {}, open: new Set(), showThinking: true })
    .flatMap(row => (row.kind === 'activity' ? [inPlainWords(sayWork(row.steps))] : []))
    .join(' // ')
const named = (name: string): Turn => turns.find(({ about }) => about === name)!

const EXPECTED = [
  ['one read', 'Read retry.js'],
  ['reads of several files', 'Read retry.js, README.md, package.json'],
  ['more reads than fit', 'Read retry.js, README.md, package.json +2'],
  ['the same file twice', 'Read retry.js'],
  ['files of the same name', 'Read src/index.js, test/index.js'],
  ['a file that is not there', 'Read none.js ✗'],
  ['a search with matches', 'Searched “LIMIT” (2 matches)'],
  ['a search without matches', 'Searched “nowhere” (0 matches)'],
  ['two searches', 'Searched “LIMIT” (2 matches), “await” (1 match)'],
  ['files by name', 'Searched “*.js” (5 matches)'],
  ['a search, then reads', 'Searched “retry” (2 matches) · read retry.js, README.md'],
  ['an edit', 'Edited a.js ✗'],
  ['two edits of a file', 'Edited b.js +2 −1'],
  ['an edit that does not fit', 'Edited a.js ✗'],
  ['a new file', 'Wrote new.js'],
  ['a file that is replaced', 'Wrote b.js ✗'],
  ['edited and wrote', 'Edited retry.js +1 −1 · wrote retry.test.js'],
  ['a patch of two files', 'Edited index.js, c.js'],
  ['a command', 'Ran echo ok ✓'],
  ['a command that fails', 'Ran exit 2 ✗ 2'],
  ['one passes, one fails', 'Ran node --version ✓ · npm run lint ✗ 1'],
  ['the same command again', 'Ran test -f build/flag ✓ · mkdir -p build; touch build/flag ✓'],
  ['a long command', 'Ran for i in 1 2 3; do echo "line $i of the out… ✓'],
  ['a command of several lines', 'Ran echo one echo two ✓'],
  ['a command in the background', 'Ran sleep 30 (in the background)'],
  ['processes', 'Listed background processes'],
  ['a script', 'Ran a script ✓'],
  ['a script that fails', 'Ran a script ✗'],
  ['a list of what is to be done', 'Updated the to-do list'],
  ['a list beside other steps', 'Read README.md'],
  ['a note', 'Updated memory “The limit is 5”'],
  ['skills', 'Listed skills · read skill none ✗'],
  ['earlier chats', 'Searched chats for “retry”'],
  ['a scheduled task', 'Listed scheduled tasks'],
  [
    'three subagents',
    'Ran 3 subagents: Count the files of src, Find who calls retry, Summarize the README',
  ],
  ['one subagent', 'Ran a subagent: Count the files of src'],
  ['a tool that does not exist', 'Tracker create issue Retry forever ✗'],
  [
    'a whole fix',
    'Searched “LIMIT” (2 matches) · read retry.js, README.md · edited retry.js +1 −1 · ran node --check src/retry.js ✓ · npm run lint ✗ 1',
  ],
  ['a command that a rule denies', 'Not run: rm -rf / (blocked)'],
  ['a path in another folder', 'Read hostname'],
] as const

words('each recorded turn is said in words and objects', () => {
  assert.equal(
    turns.map(turn => [turn.about, said(turn)]),
    EXPECTED,
  )
})

/** Calls of one group, each with its result. */
const group = (...calls: { name: string; args: unknown }[]): Turn => ({
  about: '',
  messages: [
    {
      ...{ id: 'm1', role: 'assistant', content: '', timestamp: 0 },
      tool_calls: calls.map(({ name, args }, at) => ({
        ...{ id: `c${at}`, type: 'function' as const },
        function: { name, arguments: JSON.stringify(args) },
      })),
    },
    ...calls.map((_, at) => ({
      ...{ id: `m${at + 2}`, role: 'tool' as const, content: '{"success":true}', timestamp: 0 },
      tool_call_id: `c${at}`,
    })),
  ],
})

words('subagents of several calls are counted together', () => {
  const calls = ['Look at the tests', 'Look at the docs'].map(goal => ({
    name: 'delegate_task',
    args: { goal },
  }))
  assert.is(said(group(...calls)), 'Ran 2 subagents: Look at the tests, Look at the docs')
})

words('a name of a file does not look like another one', () => {
  const call = { name: 'write_file', args: { path: 'src/evil\u202egnp.exe.ts', content: '' } }
  assert.is(said(group(call)), 'Wrote evil⟨U+202E⟩gnp.exe.ts')
})

words('in other languages the words stand where these have them', () => {
  const whole = named('a whole fix')
  const inLanguage = (tag: string): string => {
    setLanguage(tag, read(`../../../public/languages/${tag}.json`) as Catalogs)
    return said(whole)
  }
  const all = ['de', 'fr', 'ja', 'ar'].map(inLanguage)
  setLanguage('en', {})
  assert.equal(all, [
    'Nach „LIMIT“ (2 Treffer) gesucht · retry.js, README.md gelesen · retry.js +1 −1 geändert · node --check src/retry.js ✓ · npm run lint ✗ 1 ausgeführt',
    'A recherché «\u00a0LIMIT\u00a0» (2 correspondances) · a lu retry.js, README.md · a modifié retry.js +1 −1 · a exécuté node --check src/retry.js ✓ · npm run lint ✗ 1',
    '「LIMIT」 (2件一致)を検索 · retry.js, README.md を読み取り · retry.js +1 −1 を編集 · node --check src/retry.js ✓ · npm run lint ✗ 1 を実行',
    'تم البحث عن «\u2068LIMIT\u2069» (مطابقتان) · تمت قراءة \u2068retry.js\u2069, \u2068README.md\u2069 · تم تعديل \u2068retry.js\u2069 +1 −1 · تم تنفيذ \u2068node --check src/retry.js\u2069 ✓ · \u2068npm run lint\u2069 ✗ 1',
  ])
})

words.run()
