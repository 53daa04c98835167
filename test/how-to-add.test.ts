/**
 * *How to add* of ARCHITECTURE.md names every file that changes, and no other: one of each is added to a copy of the sources. It works
 * there with all of its files, and with any one of them left out, it doesn't, or the compiler objects.
 */
import { execFile } from 'node:child_process'
import {
  cpSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { tempDir } from './_temp-dir.ts'

type Kind = 'setting' | 'tool' | 'provider' | 'endpoint' | 'event'
/** What is inserted into a file: a text, before another one that is there once. A new file has no text yet. */
type Addition = readonly (readonly [before: string, text: string])[] | string

const ADDITIONS: Readonly<Record<Kind, Readonly<Record<string, Addition>>>> = {
  setting: {
    'lib/base/setting-defaults.ts': [['  default_workspace:', '  fake: false,\n']],
    'lib/base/settings.ts': [
      ['  default_workspace: {', "  fake: { type: 'flag', section: 'general' },\n"],
    ],
    'public/features/settings/strings.ts': [
      [
        "  'settings.sections':",
        "  'settings.fake': 'Fake row',\n  'settings.fake.hint': 'What it does',\n",
      ],
    ],
  },
  tool: {
    'lib/agent/tools/fake.ts': `/** Tool: one of a test. */
import { z } from 'zod'
import type { Tool } from '../types.ts'

export const fake: Tool<z.ZodObject> = {
  name: 'fake',
  summary: 'Does nothing.',
  input: z.object({}),
  kind: 'read',
  preview: () => '',
  run: () => ({ content: 'It worked.' }),
}
`,
    'lib/agent/tools/toolbox.ts': [
      ["import { patch } from './patch.ts'", "import { fake } from './fake.ts'\n"],
      ['  asTool(patch),', '  asTool(fake),\n'],
    ],
    'lib/base/tools.ts': [
      ["  {\n    name: 'terminal',\n", "  { name: 'fake', toolset: 'todo' },\n"],
    ],
  },
  provider: {
    'lib/models/providers.ts': [
      [
        '  openrouter: {\n',
        "  fake: { keys: ['FAKE_API_KEY'], baseUrl: 'https://fake.example/v1' },\n",
      ],
    ],
  },
  endpoint: {
    'handlers/fake.ts': `/** One of a test. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'

export const get = endpoint({
  access: 'read',
  summary: 'Answers',
  output: z.object({ fake: z.boolean() }),
  run: () => ({ fake: true }),
})
`,
    'router.ts': [
      [
        "import * as settings from './handlers/settings.ts'",
        "import * as fake from './handlers/fake.ts'\n",
      ],
      ["  'GET /api/settings':", "  'GET /api/fake': fake.get,\n"],
    ],
  },
  event: {
    'lib/schema/event.ts': [
      ["  event('title_status', {", "  event('fake', { text: z.string() }),\n"],
    ],
    'lib/agent/events.ts': [["  | { type: 'sent';", "  | { type: 'fake'; text: string }\n"]],
    'lib/turns/to-stream-event.ts': [
      [
        "    case 'warning':\n      return",
        "    case 'fake':\n      return { type: 'fake', data: { text: redact(event.text) } }\n",
      ],
    ],
    'public/features/messages/chat-reducer.ts': [
      ["  'stream_end',\n]", "  'fake',\n"],
      [
        "    case 'title_status':",
        "    case 'fake':\n      return { ...chat, title: event.data.text }\n",
      ],
    ],
  },
}
const KINDS = Object.keys(ADDITIONS) as Kind[]

const test = suite('how to add')

const copy = tempDir('how-to-add')
test.after(() => rmSync(copy, { recursive: true, force: true }))

const bin = (tool: string) => join('node_modules/.bin', tool)
const ENV: NodeJS.ProcessEnv = {
  ...process.env,
  // What it compiles is deleted with the copy.
  NODE_COMPILE_CACHE: join(copy, 'compiled'),
  // As for the checks.
  ...{ GOGC: 'off', GOMEMLIMIT: '3GiB' },
}
/** Standard output and errors of a program of Node in the copy. */
const run = (...args: string[]): Promise<string> =>
  new Promise(done =>
    execFile(process.execPath, args, { cwd: copy, env: ENV, maxBuffer: 1e8 }, (_, out, err) =>
      done(`${out}${err}`),
    ),
  )

const added = (path: string, addition: Addition): string => {
  if (typeof addition === 'string') return addition
  return addition.reduce(
    (text, [mark, more]) => {
      assert.is(text.split(mark).length, 2, `${path} has once: ${mark}`)
      return text.replace(mark, () => `${more}${mark}`)
    },
    readFileSync(path, 'utf8'),
  )
}

/** The copy has all additions but those of these files. A new file is there anyway: what is left out is what names it. */
const write = (leftOut: readonly string[] = []): void => {
  for (const [path, addition] of KINDS.flatMap(kind => Object.entries(ADDITIONS[kind])))
    writeFileSync(
      join(copy, path),
      leftOut.includes(path) ? readFileSync(path, 'utf8') : added(path, addition),
    )
}

const compile = async (include: string[]): Promise<string> => {
  const path = join(copy, 'tsconfig.some.json')
  writeFileSync(path, JSON.stringify({ extends: './tsconfig.json', include }))
  return run(bin('tsc'), '-p', basename(path), '--singleThreaded')
}

const working = async (): Promise<Kind[]> => {
  const output = await run('test/_how-to-add.ts')
  const [, json = '{}'] = /^works (.*)$/m.exec(output) ?? []
  const works = JSON.parse(json) as Partial<Record<Kind, boolean>>
  assert.equal(Object.keys(works), KINDS, output)
  return KINDS.filter(kind => works[kind])
}

test.before(() => {
  for (const path of [
    'router.ts',
    'handlers',
    'lib',
    'public',
    'build',
    'package.json',
    'tsconfig.json',
  ])
    cpSync(path, join(copy, path), { recursive: true })
  for (const path of globSync(['test/_*.ts', 'test/handlers/_chat.ts'])) {
    mkdirSync(join(copy, dirname(path)), { recursive: true })
    cpSync(path, join(copy, path))
  }
  symlinkSync(resolve('node_modules'), join(copy, 'node_modules'))
})

test('each row names at most four files, and those that are tried here', () => {
  const rows = new Map(
    [...readFileSync('ARCHITECTURE.md', 'utf8').matchAll(/^\| (\w+) \| (`.*`) \|$/gm)].map(
      ([, kind = '', files = '']) => [kind, files.replaceAll('NAME', 'fake').match(/[^`, ]+/g)],
    ),
  )
  for (const kind of KINDS) {
    const files = Object.keys(ADDITIONS[kind])
    assert.equal(rows.get(kind)?.toSorted(), files.toSorted(), kind)
    assert.ok(files.length <= 4)
  }
})

test('with all of its files, each of them compiles', async () => {
  write()
  assert.is(await compile(['router.ts', 'handlers', 'lib', 'public']), '')
})

test('with all of its files, each of them works', async () => {
  write()
  assert.equal(await working(), KINDS)
})

test('a new file is one that another file of the row imports', () => {
  for (const kind of KINDS)
    for (const [path, addition] of Object.entries(ADDITIONS[kind]))
      if (typeof addition === 'string')
        assert.ok(
          Object.values(ADDITIONS[kind]).some(other =>
            JSON.stringify(other).includes(`/${basename(path)}'`),
          ),
          path,
        )
})

/** What is left out together is independent. */
const NOT_WORKING: readonly Partial<Record<Kind, string>>[] = [
  {
    setting: 'public/features/settings/strings.ts',
    tool: 'lib/agent/tools/toolbox.ts',
    provider: 'lib/models/providers.ts',
    endpoint: 'router.ts',
  },
  { tool: 'lib/base/tools.ts' },
]
/** The compiler reads these, and finds what is left out of one of them. */
const NOT_COMPILING: readonly (readonly string[])[] = [
  ['lib/base/setting-defaults.ts', 'lib/base/settings.ts'],
  Object.keys(ADDITIONS.event),
]

for (const files of NOT_WORKING)
  test(`without ${Object.values(files).join(', ')} it does not work`, async () => {
    write(Object.values(files))
    assert.equal(
      await working(),
      KINDS.filter(kind => !(kind in files)),
    )
  })

for (const files of NOT_COMPILING)
  for (const path of files)
    test(`without ${path} it does not compile`, async () => {
      write([path])
      // The last is the error of a switch without a case.
      assert.match(await compile([...files]), /['"]fake['"]|error TS2366/)
    })

test('each file is left out once', () => {
  const tried = [...NOT_WORKING.flatMap(files => Object.values(files)), ...NOT_COMPILING.flat()]
  const all = KINDS.flatMap(kind => Object.entries(ADDITIONS[kind])).flatMap(([path, addition]) =>
    typeof addition === 'string' ? [] : [path],
  )
  assert.equal(tried.toSorted(), all.toSorted())
})

test.run()
