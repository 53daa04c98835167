/** Rules of the code structure as functions over file contents, each with samples that it must reject. */
import { posix } from 'node:path'
import { transformSync } from 'esbuild'

/** One file: its path from the project's root, and its text. */
export type Source = { path: string; text: string }

export type Rule = {
  name: string
  /** Which files it looks at. */
  where: RegExp
  /** Exempted files, with the reason. */
  except?: Readonly<Record<string, string>>
  /** The violations in this file; `code` is its text without comments and types. */
  find: (source: Source, code: string) => string[]
  bad: readonly Source[]
  good: readonly Source[]
}

const isCode = (path: string) => /\.(ts|tsx|mjs)$/.test(path)

const compiled = new WeakMap<Source, string>()

/** The text without comments and types, top level at column 0. */
export const codeOf = (source: Source): string => {
  const code = compiled.get(source) ?? compile(source)
  compiled.set(source, code)
  return code
}

const compile = ({ path, text }: Source): string =>
  isCode(path)
    ? transformSync(text, {
        loader: path.endsWith('.tsx') ? 'tsx' : 'ts',
        jsx: 'preserve',
        legalComments: 'none',
        tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
      }).code
    : text

/** Number of suites in a test file; each needs its `.run()`. */
export const countSuites = (text: string): number =>
  text.match(/^(?:export )?const \w+ = suite\b/gm)?.length ?? 0

const hits = (pattern: RegExp) => (_source: Source, code: string) =>
  [...code.matchAll(new RegExp(pattern, 'gm'))].map(match => match[0].trim())
const rawHits =
  (pattern: RegExp) =>
  ({ text }: Source) =>
    [...text.matchAll(new RegExp(pattern, 'gm'))].map(match => match[0].trim())

/** `property: value` of every declaration of a style sheet, without its comments. */
const declarationsOf = (css: string): [property: string, value: string][] =>
  [...css.replace(/\/\*[\s\S]*?\*\//g, '').matchAll(/([\w-]+)\s*:\s*([^;{}]+)(?=[;}])/g)].map(
    ([, property = '', value = '']) => [property, value.trim()],
  )

/**
 * `left + right` and `left ~ right` of a style sheet where the browser cannot tell by a class what a new element concerns:
 * it then computes the styles of everything in the container again for each element added to it.
 */
const broadSiblings = ({ text }: Source): string[] => {
  const pure = text.replace(/\/\*[\s\S]*?\*\//g, '')
  const selectors = (pure.match(/[^{};]+(?=\{)/g) ?? []).join(',')
  const inOneWord = selectors.replace(/\((?:[^()]|\([^()]*\))*\)/g, part =>
    part.replace(/[\s,+~>]/g, ''),
  )
  const hasName = (compound: string) => /[.#[]/.test(compound)
  return [...inOneWord.matchAll(/([^\s,>+~]+)\s*[+~]\s*([^\s,>+~]+)/g)]
    .filter(([, left = '', right = '']) => right === '*' || !(hasName(left) || hasName(right)))
    .map(([found]) => found)
}

const declarations =
  (isWrong: (property: string, value: string) => boolean) =>
  ({ text }: Source) =>
    declarationsOf(text)
      .filter(([property, value]) => isWrong(property, value))
      .map(([property, value]) => `${property}: ${value}`)

/** The parts of a value; a part in parentheses is one part. */
const partsOf = (value: string): string[] =>
  value.replace(/ ?!important$/, '').match(/(?:[^\s(]|\((?:[^()]|\([^()]*\))*\))+/g) ?? []

/** Names a side of the screen instead of a side of the text. */
const isPhysical = (property: string, value: string): boolean => {
  if (/^(?:top|right|bottom|left)$|-(?:top|right|bottom|left)\b/.test(property)) return true
  if (/^(?:text-align|float|clear)$/.test(property)) return /^(?:left|right)$/.test(value)
  if (property === 'transform')
    return /translate(?:X|3d)?\((?!0|-?50%|calc\(var\(--inline\))/.test(value)
  const [, right, , left] = partsOf(value)
  return /^(?:margin|padding|inset)$/.test(property) && left !== undefined && left !== right
}

const isOffTypeScale = (property: string, value: string): boolean => {
  if (property === 'font') return /\d(?:px|rem|em|pt)\b/.test(value)
  return (
    property === 'font-size' &&
    !/^(?:var\(--size(?:-\w+)?\)|inherit|1(?:\.\d+)?em|max\([\d.]+em, var\(--size-tiny\)\))$/.test(
      value,
    )
  )
}

const sample = (path: string, text: string): Source => ({ path, text })
const PRODUCT = /^(router\.ts|lib\/|handlers\/|public\/).*\.?(ts|tsx)?$/
const EVERY_CODE = /\.(ts|tsx|mjs)$/
const MAX_LINES = 400
/** For tests and style sheets: lists of independent cases. */
const MAX_LIST_LINES = 600

export const rules: readonly Rule[] = [
  {
    name: 'views outside the chat use the template, and forms the shared fields and actions',
    where: /^public\/.*\.tsx$/,
    except: {
      'public/features/shell/view.tsx': 'the template',
      'public/parts/form.tsx': 'the form',
      'public/features/chat/header.tsx': 'the head of the chat',
      'public/features/sign-in/sign-in.tsx':
        'part of the first load, which does not carry form.tsx',
      'public/features/shell/confirm.tsx': 'part of the first load',
    },
    find: rawHits(/class="(?:head|pair|view-scroll|view-column|form-field|form-actions)["\s]/),
    bad: [
      sample('public/features/tasks/tasks-view.tsx', '<header class="head" />'),
      sample('public/features/tasks/task-form.tsx', '<div class="form-actions" />'),
    ],
    good: [sample('public/features/tasks/tasks-view.tsx', '<View title={title} />')],
  },
  {
    name: 'the environment is read in lib/config.ts only',
    where: /^(router\.ts|(lib|handlers|public)\/.*\.tsx?)$/,
    except: {
      'lib/config.ts': 'the only reader',
      'lib/profiles/homes.ts': 'rewrites AGENT_HOME on a switch (contract, decision 11)',
    },
    find: hits(/\bprocess\.env\b/),
    bad: [sample('lib/auth/signing-key.ts', 'const key = process.env.KEY')],
    good: [sample('lib/auth/signing-key.ts', '/** not process.env */ export const key = 1')],
  },
  {
    name: 'only lib/log.ts writes to the console',
    where: /^(router\.ts|(lib|handlers|public)\/.*\.tsx?)$/,
    except: {
      'lib/log.ts': 'the only writer',
      'lib/cli/terminal.ts': 'the command line interface',
    },
    find: hits(/(?<![./])\bconsole\.\w+|\bprocess\.std(?:out|err)\b(?!\.isTTY)/),
    bad: [
      sample('lib/hub.ts', "console.log('x')"),
      sample('handlers/chat.ts', "process.stdout.write('x')"),
    ],
    good: [
      sample('lib/hub.ts', '// console.log\nexport const a = 1'),
      sample('lib/hub.ts', "export const a = 'https://console.x.ai'"),
    ],
  },
  {
    name: 'files are read by name in lib/store only: a named pipe in place of one would stop the service',
    where: /^(router\.ts|(lib|handlers)\/(?!store\/).*\.ts)$/,
    find: hits(
      /\b(?:readFileSync\((?!fd\b|["'`]\/proc\/)|appendFileSync\(|openSync\([^()]*, ["']r)/,
    ),
    except: {
      'lib/own-processes/erase-secrets.ts': 'the memory of this process',
      'lib/packed.ts': 'its own file',
    },
    bad: [
      sample('lib/auth/signing-key.ts', "export const a = readFileSync(path, 'utf8')"),
      sample('lib/cron/history.ts', 'appendFileSync(path, text)'),
      sample('lib/sessions/files.ts', "const fd = openSync(path, 'r')"),
    ],
    good: [
      sample('lib/auth/signing-key.ts', 'export const a = readFileSync(fd)'),
      sample('lib/store/read-text.ts', 'export const a = readFileSync(path)'),
      sample('lib/sessions/catalog.ts', "readFileSync('/proc/sys/kernel/random/boot_id')"),
    ],
  },
  {
    name: 'the SQLite driver is imported in lib/store/sqlite.ts only',
    where: /^(router\.ts|(lib|handlers)\/.*\.ts)$/,
    except: { 'lib/store/sqlite.ts': 'the only importer' },
    find: rawHits(/from ['"]better-sqlite3['"]|(?:import|require)\(['"]better-sqlite3['"]\)/),
    bad: [sample('lib/sessions/catalog.ts', "import type Database from 'better-sqlite3'")],
    good: [sample('lib/sessions/catalog.ts', "import { openDatabase } from '../store/sqlite.ts'")],
  },
  {
    name: 'the lock file is opened in lib/store/instance-lock.ts only (closing it would drop the lock)',
    where: /^(router\.ts|(lib|handlers)\/.*\.ts)$/,
    except: {
      'lib/store/instance-lock.ts': 'the only one',
      'lib/store/state-files.ts': 'names it to the tools that must not touch it',
    },
    find: hits(/instance\.lock\b/),
    bad: [sample('lib/start.ts', "open(join(stateDir, 'instance.lock'))")],
    good: [sample('lib/start.ts', "read(join(stateDir, 'instance.json'))")],
  },
  {
    name: 'a component reads a part of the chat (usePart), because each token changes the chat',
    where: /^public\/.*\.tsx$/,
    except: {},
    find: hits(/^(?!.*omputed\(\(\) =>).*\bchat\.value\b(?! =[^=])/),
    bad: [sample('public/features/a.tsx', 'const { queued } = chat.chat.value')],
    good: [
      sample('public/features/a.tsx', 'usePart(chat.chat, ({ queued }) => queued)'),
      sample('public/features/a.tsx', 'const live = computed(() => chat.value.live)'),
      sample('public/features/a.tsx', 'chat.value = screen(0)'),
    ],
  },
  {
    name: 'the page fetches in public/api.ts only',
    where: /^public\/.*\.tsx?$/,
    except: {
      'public/api.ts': 'the only one',
      'public/main.tsx': 'passes the browser’s own; tests pass a fake',
      'public/features/cells/main.tsx': 'passes the browser’s own',
      'public/first-request.ts': 'runs before the page’s code is there',
      'public/sw/worker.ts': 'the service worker, which the requests of the page pass',
    },
    find: hits(/(?<![.\w])(?:fetch\(|new XMLHttpRequest)/),
    bad: [sample('public/features/chat/chat-reducer.ts', "await fetch('/api/x')")],
    good: [sample('public/features/chat/chat-reducer.ts', "await prefetch('x'); a.fetch('y')")],
  },
  {
    name: 'the page opens event streams in public/stream/stream.ts only',
    where: /^public\/.*\.tsx?$/,
    except: {
      'public/stream/stream.ts': 'the only one',
      'public/main.tsx': 'passes the browser’s own; tests pass a fake',
    },
    find: hits(/\bnew EventSource\b/),
    bad: [sample('public/features/chat/chat-reducer.ts', "new EventSource('/api/events')")],
    good: [sample('public/features/chat/chat-reducer.ts', "import { open } from '../stream.ts'")],
  },
  {
    name: 'child processes are started in lib/base/process.ts only: in a group, bounded, with a given environment',
    where: /^(router\.ts|(lib|handlers)\/.*\.ts)$/,
    except: {
      'lib/base/process.ts': 'starts them',
      'lib/start.ts':
        'starts programs that outlive this process: the browser and its own successor',
      'lib/store/flock.ts': 'flock(1) holds the lock until its input closes with this process',
      'lib/own-processes/own-processes.ts': 'prlimit(1) has to be done before anything else starts',
    },
    find: hits(
      /from ["'](?:node:)?child_process["']|(?:import|require)\(["'](?:node:)?child_process/,
    ),
    bad: [
      sample(
        'lib/version.ts',
        "import { type ChildProcess, execFile } from 'node:child_process'\nexecFile()",
      ),
      sample('lib/version.ts', "const { spawn } = await import('child_process')"),
    ],
    good: [
      sample('lib/version.ts', "import type { ChildProcess } from 'node:child_process'"),
      sample('lib/version.ts', "import { run } from './base/process.ts'"),
    ],
  },
  {
    name: 'process groups are signaled in lib/base/process.ts only',
    where: /^(router\.ts|(lib|handlers)\/.*\.ts)$/,
    except: { 'lib/base/process.ts': 'killGroup' },
    find: hits(/\bprocess\.kill\([^)]*-\s*\w/),
    bad: [
      sample('lib/processes.ts', "process.kill(-child.pid, 'SIGKILL')"),
      sample('lib/processes.ts', 'process.kill(isWindows ? pid : -pid, signal)'),
    ],
    good: [sample('lib/store/flock.ts', 'process.kill(pid, 0)')],
  },
  {
    name: 'server-sent events are formatted in lib/base/sse.ts only',
    where: /^(router\.ts|(lib|handlers)\/.*\.ts)$/,
    except: { 'lib/base/sse.ts': 'formats them' },
    find: rawHits(
      /['"`](?:event|id|retry|data): ?[^'"`\n]*\\n|\\n(?:event|data): |['"`]: ?\w+\\n\\n/,
    ),
    bad: [
      sample('lib/hub.ts', 'write(`event: ping\\ndata: {}\\n\\n`)'),
      sample('lib/hub.ts', "write('data: {}\\n\\n')"),
      sample('lib/hub.ts', "write(': heartbeat\\n\\n')"),
    ],
    good: [sample('lib/hub.ts', "write(frame('ping', {}))")],
  },
  {
    name: 'values of unknown shape are narrowed by lib/base/json.ts',
    where: /^(router\.ts|(lib|handlers|public)\/.*\.tsx?)$/,
    except: { 'lib/base/json.ts': 'isObject and isObjectOrArray' },
    find: hits(
      /typeof ([\w.]+) [!=]== ["']object["'] (?:&&|\|\|) \1 [!=]== null|([\w.]+) [!=]== null (?:&&|\|\|) typeof \2 [!=]== ["']object["']/,
    ),
    bad: [
      sample('lib/hub.ts', "export const a = typeof b === 'object' && b !== null"),
      sample('lib/hub.ts', "if (a === null || typeof a !== 'object') b()"),
    ],
    good: [sample('lib/hub.ts', 'if (!isObject(a)) b()')],
  },
  {
    name: 'no state at module level',
    where: /^(router\.ts|(lib|handlers|public)\/.*\.tsx?)$/,
    find: hits(/^(?:export )?let \w+/),
    bad: [sample('lib/hub.ts', 'export let count = 0')],
    good: [sample('lib/hub.ts', 'export const f = () => { let n = 0; n += 1; return n }')],
  },
  {
    name: 'no default exports',
    where: PRODUCT,
    find: rawHits(/^export default\b|\bas default\b(?=.*\})/),
    bad: [
      sample('lib/hub.ts', 'export default 1'),
      sample('lib/hub.ts', 'const a = 1\nexport { a as default }'),
    ],
    good: [sample('lib/hub.ts', 'export const byDefault = 1')],
  },
  {
    name: 'a file name says what is in the file',
    where: EVERY_CODE,
    find: ({ path }) =>
      /^(utils?|helpers?|common|misc|manager|service|base|index)$/.test(
        posix.basename(path).split('.')[0] ?? '',
      )
        ? [path]
        : [],
    bad: [sample('lib/utils.ts', ''), sample('public/parts/index.tsx', '')],
    good: [sample('lib/http/request-context.ts', '')],
  },
  {
    name: 'no `as any`, no @ts-ignore',
    where: /\.(ts|tsx)$/,
    except: { 'test/_rules.ts': 'holds the samples' },
    find: rawHits(/\bas any\b|@ts-(?:ignore|nocheck)/),
    bad: [sample('lib/hub.ts', 'a as any'), sample('test/a.test.ts', '// @ts-ignore')],
    good: [sample('lib/hub.ts', 'a as unknown')],
  },
  {
    name: 'an ignored error has a comment that says why',
    where: EVERY_CODE,
    except: { 'test/_rules.ts': 'holds the samples' },
    find: rawHits(/\bcatch\s*(?:\([^)]*\)\s*)?\{\s*\}|\.catch\(\(\)\s*=>\s*\{\s*\}\)/),
    bad: [
      sample('lib/hub.ts', 'try { a() } catch {}'),
      sample('lib/hub.ts', 'await a().catch(() => {})'),
    ],
    good: [sample('lib/hub.ts', 'try { a() } catch {\n // gone already\n}')],
  },
  {
    name: `a file has at most ${MAX_LINES} lines`,
    where: /\.(ts|tsx|mjs|css)$/,
    except: {
      'lib/models/builtin-models.ts': 'a data table',
      'router.ts': 'the route table',
      'test/_rules.ts': 'a table of rules',
      'public/strings/en.ts': 'a data table',
    },
    find: ({ path, text }) => {
      const lines = text.trimEnd().split('\n').length
      return lines > (/^test\/|\.css$/.test(path) ? MAX_LIST_LINES : MAX_LINES)
        ? [`${lines} lines`]
        : []
    },
    bad: [sample('lib/hub.ts', 'a\n'.repeat(MAX_LINES + 1))],
    good: [sample('lib/hub.ts', 'a\n'.repeat(MAX_LINES))],
  },
  {
    name: 'a file begins with a sentence that says what it is for',
    where: /\.(ts|tsx|mjs|css)$/,
    find: ({ path, text }) =>
      (path.endsWith('.css') ? /^\/\*\*? \S/ : /^\/\*\*\s+(?:\* )?\S/).test(text)
        ? []
        : [text.split('\n')[0] ?? ''],
    bad: [sample('lib/hub.ts', "import a from 'a'"), sample('public/style/a.css', 'a { b: c }')],
    good: [
      sample('lib/hub.ts', '/** The hub. */'),
      sample('lib/hub.ts', '/**\n * The hub.\n */'),
      sample('public/style/a.css', '/* Colors. */'),
    ],
  },
  {
    name: 'every test suite is run',
    where: /^test\/.*\.test\.tsx?$/,
    find: ({ text }) => {
      const runs = text.match(/^\s*\w+\.run\(\)/gm)?.length ?? 0
      const suites = Math.max(1, countSuites(text))
      return runs < suites ? [`${suites} suite(s), ${runs} .run()`] : []
    },
    bad: [
      sample('test/a.test.ts', "const test = suite('a')\ntest('b', () => {})"),
      sample('test/a.test.ts', "const a = suite('a')\nconst b = suite('b')\na.run()"),
    ],
    good: [sample('test/a.test.ts', "const test = suite('a')\ntest.run()")],
  },
  {
    name: 'style sheets name the sides of the text, not of the screen (right-to-left comes free)',
    where: /^public\/.*\.css$/,
    find: declarations(isPhysical),
    bad: [
      sample('public/style/a.css', '/* A. */\na { margin-left: 4px; }'),
      sample('public/style/a.css', '/* A. */\na { border-bottom: 0; }'),
      sample('public/style/a.css', '/* A. */\na { right: 0 }'),
      sample('public/style/a.css', '/* A. */\na { text-align: right; }'),
      sample('public/style/a.css', '/* A. */\na { padding: 0 8px max(1px, 2px) 4px; }'),
      sample('public/style/a.css', '/* A. */\na { transform: translateX(24px); }'),
    ],
    good: [
      sample(
        'public/style/a.css',
        '/* left: 0; */\na { inset-inline: 0 auto; padding: 0 8px 4px 8px; text-align: end; }',
      ),
      sample(
        'public/style/a.css',
        '/* A. */\na { transform: translate(calc(var(--inline) * 4px)); }',
      ),
      sample('public/style/a.css', '/* A. */\na { transform: translateY(-50%); }'),
    ],
  },
  {
    name: 'a selector of siblings has a class',
    where: /^public\/.*\.css$/,
    find: broadSiblings,
    bad: [
      sample('public/style/a.css', '/* A. */\n.md > * + * { margin: 0; }'),
      sample('public/style/a.css', '/* A. */\n.row + * { margin: 0; }'),
      sample('public/style/a.css', '/* A. */\n@media print { .md li + li, .b { margin: 0; } }'),
      sample('public/style/a.css', '/* A. */\n.md > :is(h3, h4) ~ p { margin: 0; }'),
    ],
    good: [
      sample('public/style/a.css', '/* * + * */\n.row + .row > :nth-child(2n + 1) { margin: 0; }'),
      sample(
        'public/style/a.css',
        '/* A. */\n.md > :is(.md-h1, .md-h2) + :is(h3, h4) { margin: 0; }',
      ),
      sample(
        'public/style/a.css',
        '/* A. */\n.a input:checked + .dot { margin: calc(1px + 2px); }',
      ),
    ],
  },
  {
    name: 'text has a size of the type scale, at least 12 px',
    where: /^public\/.*\.css$/,
    find: declarations(isOffTypeScale),
    bad: [
      sample('public/style/a.css', '/* A. */\na { font-size: 11px; }'),
      sample('public/style/a.css', '/* A. */\na { font-size: 0.9em; }'),
      sample('public/style/a.css', '/* A. */\na { font: 14px/1 serif }'),
    ],
    good: [
      sample('public/style/a.css', '/* A. */\na { font-size: var(--size-tiny); }'),
      sample('public/style/a.css', '/* A. */\na { font-size: max(0.9em, var(--size-tiny)); }'),
      sample('public/style/a.css', '/* A. */\na { font: 400 var(--size) / 1.6 var(--font); }'),
    ],
  },
  {
    name: 'corners have a radius of the scale',
    where: /^public\/.*\.css$/,
    find: declarations(
      (property, value) =>
        /radius$/.test(property) &&
        !property.startsWith('--') &&
        partsOf(value).some(
          part => !/^(?:0|inherit|(?:calc\()?var\(--radius[^)]*\).*)$/.test(part),
        ),
    ),
    bad: [
      sample('public/style/a.css', '/* A. */\na { border-radius: 5px; }'),
      sample('public/style/a.css', '/* A. */\na { border-end-end-radius: 50%; }'),
    ],
    good: [
      sample(
        'public/style/a.css',
        '/* A. */\na { border-radius: var(--radius) var(--radius) 0 0; }',
      ),
      sample('public/style/a.css', '/* A. */\na { border-radius: calc(var(--radius) - 1px); }'),
    ],
  },
  {
    name: 'colors come from the tokens',
    where: /^public\/(?!style\/themes\/).*\.css$/,
    except: { 'public/style/tokens.css': 'shadows and the scrim, the same in every theme' },
    find: declarations((_, value) =>
      /#[0-9a-f]{3,8}\b|\b(?:rgb|hsl|hwb|lab|lch|oklab|oklch)a?\(/i.test(value),
    ),
    bad: [
      sample('public/style/a.css', '/* A. */\na { color: #fff; }'),
      sample('public/style/a.css', '/* A. */\na { box-shadow: 0 0 2px rgb(0 0 0 / 1) }'),
    ],
    good: [sample('public/style/a.css', '/* #fff */\na { color: var(--text); }')],
  },
  {
    name: 'HTML contains no inline styles, scripts or event handlers',
    where: /^public\/.*\.html$/,
    find: ({ path, text }) => {
      // The login page is one document; its one style and script are admitted by their hashes (decision 19).
      const blocks = /\/(?:login|cells)\.html$/.test(path)
        ? []
        : rawHits(/<style\b|<script(?![^>]*\bsrc=)/)
      return [
        ...(typeof blocks === 'function' ? blocks({ path, text }) : blocks),
        ...rawHits(/\sstyle=|\son[a-z]+=|\bhttps?:\/\/(?!www\.w3\.org\/)/)({ path, text }),
      ]
    },
    bad: [
      sample('public/index.html', '<p style="color: red">'),
      sample('public/index.html', '<script>a()</script>'),
      sample('public/index.html', '<style>a{}</style>'),
      sample('public/login.html', '<form onsubmit="a()">'),
      sample('public/index.html', '<script src="https://other.example/a.js"></script>'),
    ],
    good: [
      sample('public/index.html', '<script type="module" src="static/main.js"></script>'),
      sample('public/login.html', '<style>a{}</style><script>b()</script>'),
    ],
  },
  {
    name: 'an error that a person can meet has a code, so that the page has a text in its language',
    where:
      /^(?:handlers|lib\/(?:app|auth|backups|checkpoints|conversation|cron|host-db|mcp|memory|models|notifications|profiles|sessions|shares|skills|terminals|turns|updates|workspaces))\//,
    except: {
      'handlers/client-api.ts': 'for programs',
      'lib/auth/auth.ts': 'its only one must not say what is wrong',
      'lib/cron/agent-api.ts': 'for the model',
      'lib/sessions/legacy.ts': 'the disk is full: a code of its kind',
      'lib/cron/jobs-file.ts': 'the same',
      'lib/backups/backup.ts': 'for the command line',
      'lib/backups/format.ts': 'the same',
      'lib/backups/keys.ts': 'the same',
      'lib/backups/read-archive.ts': 'the same',
      'lib/backups/restore.ts': 'the same',
      'lib/mcp/oauth/auth-fetch.ts': 'an answer that only a broken server gives',
      'lib/skills/agent-skills.ts': 'for the model',
      'lib/turns/continued-turns.ts': 'for the log',
      'lib/skills/own-files.ts': 'the others are requests that no page makes',
      'lib/models/reasoning.ts': 'a word that the page offers',
    },
    // What only a program can send has the code of its kind.
    find: hits(
      /\b(?:invalid|unauthorized|forbidden|missing|conflict|tooMany|unavailable|diskFull)\(\s*(["'`])(?!Invalid |not found|No |The Host|(?:[a-z]\w*|reasoning:) (?:must|is) )(?:\\.|(?!\1).)*\1\s*\)|\b(?:invalid|unauthorized|forbidden|missing|conflict|tooMany|unavailable|diskFull)\([\w.]+(?:\([\w.]*\))?\)/,
    ),
    bad: [
      sample('lib/workspaces/a.ts', "const e = invalid('Write a message.')"),
      sample('handlers/a.ts', 'const e = conflict(`There is already a ${x}`)'),
      sample('lib/models/a.ts', 'const e = conflict(problem)'),
    ],
    good: [
      sample('lib/workspaces/a.ts', "const e = invalid('Write a message.', { code: 'a' })"),
      sample('lib/workspaces/a.ts', "const e = invalid('name is not valid')"),
      sample('lib/agent/a.ts', "const e = invalid('Read the file first.')"),
    ],
  },
]

/** `path: what` for every violation of one rule. */
export const violations = (rule: Rule, sources: readonly Source[]): string[] =>
  sources
    .filter(({ path }) => rule.where.test(path) && !rule.except?.[path])
    .flatMap(source => rule.find(source, codeOf(source)).map(what => `${source.path}: ${what}`))
