/**
 * What README.md and docs/ say is true: each fenced block is run where it can be, else read by the program that it is for; each
 * command, variable, key, path, address, and figure in a text exists. A block that nothing tries says why.
 */
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { transformSync } from 'esbuild'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parse as parseYaml } from 'yaml'
import { configKeysPage } from '../build/config-docs.ts'
import { COMMANDS, commandOf, isCommand, serverArguments, unknownCommand } from '../lib/cli/cli.ts'
import type { Check, CheckCode } from '../lib/operations/checks/check.ts'
import { KNOWN_VARIABLES, readConfig } from '../lib/config.ts'
import { signWebhook } from '../lib/notifications/channels.ts'
import { parseProfileConfig } from '../lib/profiles/config.ts'
import { unreadKeys } from '../lib/profiles/unread-keys.ts'
import { startApp, tokenHeaders } from './_app.ts'
import { all } from './_contract.ts'
import {
  BEAT_MS,
  LEASE_MS,
  STALE_MS,
  STATEMENT_MS,
  TAKEOVER_MS,
} from '../lib/base/cluster-settings.ts'
import { type Block, type Command, commandsOf, constantOf, type Page, pages } from './_docs.ts'
import { createDesk } from './lib/cli/_run.ts'

const test = suite('documentation')

/** About the code: they have no commands, and name files without their folder. */
const isNote = ({ path }: Page): boolean =>
  path === 'ARCHITECTURE.md' || /^(?:lib|handlers|public)\//.test(path)
const notes = pages.filter(isNote)
const guides = pages.filter(page => !isNote(page))
const blocks = guides.flatMap(page => page.blocks).filter(({ reason }) => reason === null)
const read = (path: string): string => readFileSync(path, 'utf8')
const fields = (value: unknown): Record<string, unknown> => value as Record<string, unknown>

/** `check` of each; the messages of those that failed. */
const problemsOf = <T>(list: readonly T[], name: (each: T) => string, check: (each: T) => void) =>
  list.flatMap(each => {
    try {
      check(each)
      return []
    } catch (error) {
      return [`${name(each)}: ${error instanceof Error ? error.message : error}`]
    }
  })

// ── Commands ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** As the program reads it. Throws for an unknown command or option. */
const parseOwn = (argv: string[]): void => {
  const verb = commandOf(argv)
  if (verb === null) readConfig({ HOME: '/home/me' }, serverArguments(argv))
  else if (verb === 'unknown') throw new Error(unknownCommand(argv) ?? '')
  else if (isCommand(verb)) COMMANDS[verb].parse(argv.slice(1))
}

const scripts = fields(fields(JSON.parse(read('package.json'))).scripts)
const { version } = fields(JSON.parse(read('package.json')))
const tarball = `./dist/agent-webui-${version}.tgz`

const checkNpm = ([verb = '', ...args]: string[]): void => {
  if (verb === 'install') {
    assert.is(args[0], '-g')
    assert.match(args[1] ?? '', /agent-webui-[\d.]+\.tgz$/)
    return
  }
  const [script = '', ...rest] = verb === 'run' ? args : [verb, ...args]
  assert.ok(script in scripts, `npm run ${script} does not exist`)
  if (script === 'start' && rest[0] === '--') parseOwn(rest.slice(1))
  if (script === 'build')
    for (const option of rest.slice(1))
      assert.ok(read('build.mjs').includes(option.split('=')[0] ?? ''), `${option} is not known`)
}

const valueAt = (values: unknown, path: string): unknown =>
  path
    .replaceAll(/\[\d+\]/g, '')
    .split('.')
    .reduce<unknown>((value, key) => fields(value ?? {})[key], values)

const checkHelm = (args: string[]): void => {
  const values = parseYaml(read('helm/agent-webui/values.yaml')) as unknown
  const given = args.flatMap((word, at) => (args[at - 1] === '--set' ? word.split(',') : []))
  for (const each of given)
    assert.not.equal(valueAt(values, each.split('=')[0] ?? ''), undefined, each)
  assert.ok(args.includes('helm/agent-webui'))
}

const checkDocker = (args: string[]): void => {
  const image = read('Dockerfile')
  if (args[0] === 'compose') {
    assert.ok(existsSync('compose.yml'))
    return
  }
  const argument = args[args.indexOf('--build-arg') + 1]
  if (args.includes('--build-arg')) assert.match(image, `ARG ${argument?.split('=')[0]}`)
  if (args.includes('-v')) assert.match(image, '/data')
}

/** Why a command of another program is not run here; its words about this project are compared with what exists. */
const OTHERS: Readonly<Record<string, { reason: string; check?: (args: string[]) => void }>> = {
  npm: { reason: 'test/proofs/install runs these', check: checkNpm },
  npx: {
    reason: 'test/proofs/install runs these',
    check: args => assert.ok(args.includes(tarball)),
  },
  docker: { reason: 'needs a Docker engine', check: checkDocker },
  helm: { reason: 'test/proofs/cluster renders the chart', check: checkHelm },
  kubectl: { reason: 'needs a Kubernetes cluster' },
  tailscale: { reason: 'needs a Tailscale network' },
  'oauth2-proxy': { reason: 'needs a provider of sign-ins' },
  ssh: { reason: 'needs another machine' },
  claude: { reason: 'test/proofs/agents runs it' },
  curl: { reason: 'run below, against a service' },
  ...Object.fromEntries(
    ['openssl', 'git', 'install', 'systemctl', 'journalctl', 'du', 'ls'].map(name => [
      name,
      { reason: 'of the system' },
    ]),
  ),
}

const shell = blocks.filter(({ lang }) => lang === 'sh')
const commands = shell.flatMap(({ page, text }) =>
  commandsOf(text).map(command => ({ ...command, page })),
)
const named = ({ page, line }: { page: string; line: string }) => `${page}: ${line}`

test('each command in a block of the shell is one that exists', () => {
  assert.ok(commands.length > 50)
  const check = ({ program, args }: Command): void => {
    if (program === 'agent-webui') parseOwn(args)
    else if (program !== '') {
      const other = OTHERS[program]
      assert.ok(other, `${program} is neither ours nor listed with a reason`)
      other.check?.(args)
    }
    const at = args.indexOf('agent-webui')
    if (program === 'kubectl' && at > 0) parseOwn(args.slice(at + 1))
  }
  assert.equal(problemsOf(commands, named, check), [])
})

test('each command in a text is one that exists', () => {
  const found = guides.flatMap(({ path, words }) =>
    words
      .filter(word => /^(?:agent-webui|npm(?: run)?) [a-z-]/.test(word))
      // Of the projects that the agent works in.
      .filter(word => word.startsWith('agent-webui') || !/permissions|decision/.test(path))
      .map(line => ({ page: path, line })),
  )
  assert.ok(found.length > 40)
  const check = ({ line }: { line: string }): void => {
    const [command] = commandsOf(line.replaceAll('…', 'x'))
    if (command?.program === 'npm' && command.args[0] !== 'install') checkNpm(command.args)
    else if (command?.program === 'agent-webui') parseOwn(command.args)
  }
  assert.equal(problemsOf(found, named, check), [])
})

/** Run on a home of its own, with the answers that a person gives. Without an entry, and with these options, it is only read. */
const RUN: Readonly<Record<string, { codes: number[]; answers?: string[] }>> = {
  chat: { codes: [0], answers: [] },
  doctor: { codes: [0, 1] },
  backup: { codes: [0], answers: ['correct horse', 'correct horse'] },
  restore: { codes: [0], answers: ['correct horse'] },
  export: { codes: [0] },
  config: { codes: [0], answers: ['y'] },
  password: { codes: [0], answers: ['correct horse', 'correct horse'] },
}
const ONLY_READ = ['--url', '--wait']

for (const command of commands.filter(
  ({ program, args: [verb = '', ...rest] }) =>
    program === 'agent-webui' && verb in RUN && !rest.some(word => ONLY_READ.includes(word)),
))
  test(`${command.page}: ${command.line.trim()}`, async () => {
    using desk = createDesk()
    const place = (word: string) => word.replace(/^~/, desk.root)
    const args = command.args.map(place)
    const env = Object.fromEntries(
      Object.entries(command.env).map(([name, value]) => [name, place(value)]),
    )
    const home = env.AGENT_HOME ?? desk.home
    mkdirSync(home, { recursive: true, mode: 0o700 })
    writeFileSync(join(home, 'config.yaml'), 'model: {provider: demo}\n', { mode: 0o600 })
    const { codes, answers } = RUN[args[0] ?? ''] ?? { codes: [] }
    const file = args.find(word => word.endsWith('.tar.zst')) ?? ''
    if (file.startsWith('/')) mkdirSync(dirname(file), { recursive: true })
    if (args[0] === 'restore') {
      const saved = await desk.talk(['backup', file], { env })
      assert.is(saved.code, 0, saved.err)
      rmSync(home, { recursive: true })
    }
    const ran = await desk.talk(args, { env, ...(answers && { answers: [...answers] }) })
    assert.ok(codes.includes(ran.code ?? -1), `${ran.code}\n${ran.err}${ran.out}`)
  })

test('the variables that a block sets have values that a start takes', () => {
  const check = ({ text }: Block): void => {
    const given = commandsOf(text).flatMap(({ env }) => Object.entries(env))
    const values = given
      .filter(([name]) => name.startsWith('AGENT_'))
      .map(([name, value]) => [name, value === '$(…)' ? 'a'.repeat(48) : value])
    readConfig({ HOME: '/home/me', ...Object.fromEntries(values) }, [])
  }
  // Half of a setup: the other half is in the block before.
  const whole = shell.filter(
    ({ text }) => !text.startsWith('AGENT_WEBUI_AUTH_HEADER=Remote-User agent-webui worker'),
  )
  assert.equal(
    problemsOf(whole, ({ page, text }) => `${page}: ${text.split('\n')[0]}`, check),
    [],
  )
})

test('each request with curl gets an answer', async () => {
  const env = { AGENT_WEBUI_METRICS_TOKEN: 'a-token-of-the-metrics' }
  await using app = await startApp({ env })
  const token = (await tokenHeaders(app)).Authorization?.replace('Bearer ', '') ?? ''
  const requests = commands.filter(({ program }) => program === 'curl')
  assert.ok(requests.length > 0)
  for (const { page, line } of requests) {
    const text = line
      .replace('http://127.0.0.1:8787', app.url)
      .replace('curl ', 'curl --fail-with-body --silent --show-error ')
    const { body } = await app.post('/api/tokens/create', {
      ...{ name: page, approvals: 'deny', scope: line.includes('/api/') ? 'api' : undefined },
    })
    const secret = (body.secret as string | undefined) ?? token
    const problem = await new Promise<string>(resolve =>
      execFile(
        'bash',
        ['-c', text],
        { env: { PATH: process.env.PATH, TOKEN: secret, ...env } },
        (error, out, err) => resolve(error ? `${text}\n${out}${err}` : ''),
      ),
    )
    assert.is(problem, '')
  }
})

// ── Variables ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** Set by the program for its own processes; of earlier versions, and ignored with a warning. */
const INTERNAL = ['AGENT_WEBUI_RELEASES', 'AGENT_WEBUI_PARENT', 'AGENT_WEBUI_CLUSTER_RUN_BY']

test('each variable that is named exists, and each that exists is documented', () => {
  const text = guides.map(page => page.text).join('\n')
  const found = new Set(text.match(/\bAGENT_WEBUI_[A-Z_]*[A-Z]/g))
  const isPrefix = (name: string) =>
    text.includes(`${name}_…`) && KNOWN_VARIABLES.some(known => known.startsWith(`${name}_`))
  assert.equal(
    [...found].filter(name => !KNOWN_VARIABLES.includes(name) && !isPrefix(name)),
    [],
  )
  assert.equal(
    KNOWN_VARIABLES.filter(name => found.has(name) === INTERNAL.includes(name)),
    [],
  )
  const tracing = globSync([
    'lib/operations/telemetry/*.ts',
    'node_modules/@opentelemetry/{resources,sdk-trace-base}/build/src/**/*.js',
  ])
    .map(read)
    .join()
  assert.equal(
    [...new Set(text.match(/\bOTEL_[A-Z_]+/g))].filter(name => !tracing.includes(name)),
    [],
  )
})

test('the table of the variables has their defaults', () => {
  const { host, port, botName, outsideSandbox, hasTerminal, looksForSandbox, log, baseHome } =
    readConfig({ HOME: '/home/me' }, [])
  const page = read('docs/configuration.md')
  const defaultOf = (name: string) =>
    page
      .split('\n')
      .find(line => line.startsWith('| ') && line.split('|')[1]?.includes(`\`${name}\``))
      ?.split('|')[2]
      ?.trim()
  const onOff = (value: boolean) => `\`${value ? 'on' : 'off'}\``
  assert.equal(
    {
      AGENT_WEBUI_PORT: `\`${host}\`, \`${port}\``,
      AGENT_WEBUI_BOT_NAME: `\`${botName}\``,
      AGENT_WEBUI_OUTSIDE_SANDBOX: `\`${outsideSandbox}\``,
      AGENT_WEBUI_TERMINAL: onOff(hasTerminal),
      AGENT_WEBUI_SANDBOX: onOff(looksForSandbox),
      AGENT_WEBUI_LOG: `\`${log.format}\`, \`${log.level}\``,
      AGENT_HOME: `\`${baseHome.replace('/home/me', '~')}\``,
    },
    Object.fromEntries(
      [
        'AGENT_WEBUI_PORT',
        'AGENT_WEBUI_BOT_NAME',
        'AGENT_WEBUI_OUTSIDE_SANDBOX',
        'AGENT_WEBUI_TERMINAL',
        'AGENT_WEBUI_SANDBOX',
        'AGENT_WEBUI_LOG',
        'AGENT_HOME',
      ].map(name => [name, defaultOf(name)]),
    ),
  )
})

// ── Blocks of other languages ───────────────────────────────────────────────────────────────────────────────────────

const checkConfig = (value: Record<string, unknown>): void => {
  assert.equal(parseProfileConfig(value).problems, [])
  assert.equal(
    unreadKeys(value as never).map(({ key }) => key),
    [],
  )
}

/** Of this program, not of Prometheus. */
const isConfig = (value: object): boolean => !('scrape_configs' in value) && !('groups' in value)

const METRIC = /\bagent_webui_[a-z_]+/g

const checkJson = (text: string): void => {
  const value = fields(JSON.parse(text))
  const servers = fields(value.agent_servers ?? value.mcpServers ?? {})
  for (const { command, args } of Object.values(servers) as { command: string; args: string[] }[]) {
    assert.is(command, 'agent-webui')
    parseOwn(args)
  }
}

/** The commands of ours in a text for another program. */
const programOf = (text: string): void => {
  const own = commandsOf(text).filter(({ program }) => program === 'agent-webui')
  assert.ok(own.length > 0)
  for (const { args } of own) parseOwn(args)
}

const braces = (text: string): void =>
  assert.is(text.split('{').length, text.split('}').length, 'braces are not balanced')

/** How a block of each language is tried. */
const LANGUAGES: Readonly<Record<string, (block: Block) => void>> = {
  // Above.
  sh: () => undefined,
  json: ({ text }) => checkJson(text),
  yaml({ text }) {
    const value = fields(parseYaml(text))
    if (isConfig(value)) checkConfig(value)
    const metrics = read('docs/operations.md')
    for (const name of text.match(METRIC) ?? [])
      assert.ok(metrics.includes(`\`${name}\``), `${name} is no metric`)
  },
  js: ({ text }) => void transformSync(text, { loader: 'ts', format: 'esm' }),
  /** The program of a receiver checks a request of ours. */
  python({ text }) {
    const secret = `whsec_${Buffer.from('secret').toString('base64')}`
    const at = Math.floor(Date.now() / 1_000)
    const sign = signWebhook(secret, 'id', at, '{}')
    const headers = { 'webhook-id': 'id', 'webhook-timestamp': `${at}`, 'webhook-signature': sign }
    const call = `print(verify(${JSON.stringify(secret)}, ${JSON.stringify(headers)}, b"{}", set()))`
    assert.is(execFileSync('python3', ['-c', `${text}\n${call}`], { encoding: 'utf8' }), 'True\n')
  },
  markdown({ text }) {
    const [, front = ''] = /^---\n(.+?)\n---\n/s.exec(text) ?? []
    assert.ok(fields(parseYaml(front)).description)
  },
  toml({ text }) {
    for (const line of text.split('\n'))
      assert.match(line, /^(?:#.*|\[[\w.-]+\]|\w+ = (?:"[^"]*"|\d+|true|false))$/)
    for (const [, path = ''] of text.matchAll(/127\.0\.0\.1:8787(\/\w+)/g))
      assert.ok(all.some(route => route.path.startsWith(`${path}/`)))
  },
  nginx({ text }) {
    for (const line of text.split('\n')) assert.match(line, /[;{}]$/)
    braces(text)
  },
  caddy: ({ text }) => braces(text),
  cron: ({ text }) => programOf(text.replace(/^(?:\S+ ){5}/gm, '').replaceAll('\\%', '%')),
  /** Units of systemd. */
  ini({ text }) {
    for (const line of text.split('\n')) assert.match(line, /^(?:|#.*|\[[A-Z]\w+\]|[A-Z]\w+=.+)$/)
    programOf(text.match(/agent-webui [a-z].*(?=')/g)?.join('\n') ?? '')
  },
  lua: ({ text }) => braces(text),
  /** Commands of this program, with what each does. */
  commands({ text }) {
    for (const line of text.split('\n')) {
      const [command = ''] = line.split(/\s{2,}/)
      parseOwn(commandsOf(command.replace(/\[port\]/, '9000'))[0]?.args ?? ['unknown'])
    }
  },
  /** Files of the state directory and of a home, with what each is for. */
  tree({ text }) {
    const names = [...text.matchAll(/^ +(\S+(?: [^ \n]+)*?)(?= {2}|$)/gm)].flatMap(
      ([, found = '']) => found.split(/,? /).map(name => name.replace(/\/.*$/, '')),
    )
    const code = globSync('lib/**/*.ts').map(read).join()
    assert.ok(names.length > 10)
    for (const name of names.filter(each => !each.startsWith('*')))
      assert.ok(new RegExp(`['/]${RegExp.escape(name)}['/]`).test(code), `${name} is no file here`)
  },
  /** One line of the log. */
  log: ({ text }) => assert.ok(fields(JSON.parse(text)).level),
}

test('each block is tried in its language, or says why not', () => {
  assert.equal(
    problemsOf(
      blocks,
      ({ page, lang, text }) => `${page} (${lang || 'no language'}) ${text.split('\n')[0]}`,
      block => {
        const check = LANGUAGES[block.lang]
        assert.ok(check, 'write ```LANGUAGE no-test: REASON')
        check(block)
      },
    ),
    [],
  )
})

test('the examples of proxies can be read; test/proofs/install runs those of nginx and Caddy', () => {
  for (const path of globSync('docs/proxies/*'))
    if (path.endsWith('.yml')) parseYaml(read(path))
    else braces(read(path))
})

/** Findings about the text of config.yaml, not about what is installed here. */
const OF_TEXT: readonly CheckCode[] = [
  'file_unreadable',
  'guard_unsupported',
  'guard_without_effect',
  'key_unknown',
  'mcp_entry_invalid',
  'mcp_section_invalid',
  'value_invalid',
]

test('doctor finds no mistake in the examples of config.yaml', async () => {
  const examples = blocks.filter(({ lang, text }) => lang === 'yaml' && isConfig(parseYaml(text)))
  assert.ok(examples.length > 5)
  for (const { page, text } of examples) {
    const desk = createDesk()
    desk.config(text)
    const { out } = await desk.talk(['doctor', '--json'])
    desk.close()
    const { checks } = JSON.parse(out) as { checks: Check[] }
    const found = checks.filter(({ code }) => code && OF_TEXT.includes(code))
    assert.equal(found, [], page)
  }
})

// ── Names ───────────────────────────────────────────────────────────────────────────────────────────────────────────

test('links and anchors lead somewhere', () => {
  const problems = pages.flatMap(({ path, links, anchors }) =>
    links
      .filter(link => !/^(?:https?|mailto):/.test(link))
      .filter(link => {
        const [file = '', anchor] = link.split('#')
        const target = file === '' ? path : normalize(join(dirname(path), file))
        if (!existsSync(target)) return true
        const there = file === '' ? anchors : pages.find(page => page.path === target)?.anchors
        return anchor !== undefined && !there?.has(anchor)
      })
      .map(link => `${path}: ${link}`),
  )
  assert.equal(problems, [])
})

test('each page of docs/ is named in the guide of README.md', () => {
  const { links = [] } = pages.find(({ path }) => path === 'README.md') ?? {}
  assert.equal(
    pages
      .map(({ path }) => path)
      .filter(path => /^docs\/[^/]+\.md$/.test(path) && !links.includes(path))
      // Linked by the pages that they belong to.
      .filter(path => path !== 'docs/configuration-keys.md'),
    [],
  )
})

test('files that ARCHITECTURE.md and a README of the code name exist', () => {
  const paths = globSync(['*.*', '.*.mjs', '{lib,handlers,public,test,build,bench}/**/*.*'])
  const names = new Set(paths.map(path => basename(path)))
  const isThere = (word: string): boolean =>
    word.includes('/')
      ? existsSync(word) || paths.some(path => path.endsWith(`/${word}`))
      : names.has(word)
  const missing = notes.flatMap(({ path, words }) =>
    words
      .filter(word => /^[\w./-]+\.(?:tsx?|mjs|cjs|grit|css)$/.test(word) && !/NAME|TAG/.test(word))
      .filter(word => !isThere(word))
      .map(word => `${path}: ${word}`),
  )
  assert.equal(missing, [])
})

test('the folders of ARCHITECTURE.md are in the order of imports', () => {
  const namesIn = (text: string): string[] => text.match(/(?<=['`])[\w-]+/g) ?? []
  const [, order = ''] = /ORDER = \[\n([\s\S]*?)\n\]/.exec(read('.dependency-cruiser.mjs')) ?? []
  const groups = order.split('\n').map(line => namesIn(line))
  const rows = read('ARCHITECTURE.md').matchAll(/^\| (`[\w.-]+`(?:, `[\w.-]+`)*) \|/gm)
  const listed = [...rows]
    .flatMap(([, cell = '']) => cell.split(', ').flatMap(namesIn))
    .map(name => [name, groups.findIndex(group => group.includes(name))] as const)
  assert.equal(listed.map(([name]) => name).toSorted(), groups.flat().toSorted())
  assert.equal(
    listed,
    listed.toSorted(([, a], [, b]) => b - a),
  )
})

test('functions that ARCHITECTURE.md names are in the file beside them', () => {
  const sources = globSync('{lib,handlers,public}/**/*.{ts,tsx}')
  const named = [...read('ARCHITECTURE.md').matchAll(/`(\w+)` \(`([\w-]+\.tsx?)`/g)]
  assert.ok(named.length > 20)
  const missing = named.filter(
    ([, name = '', file = '']) =>
      !sources.some(
        path => basename(path) === file && new RegExp(`\\b${name}\\b`).test(read(path)),
      ),
  )
  assert.equal(
    missing.map(([text]) => text),
    [],
  )
})

test('files that are named exist', () => {
  const places =
    /^(?:systemd|launchd|helm|lib|docs|build|handlers|public|bench|eval|test)\/[\w./-]+$/
  const files = /^(?:compose[\w.]*\.yml|Dockerfile|package(?:-lock)?\.json|[A-Z]+\.md)$/
  const named = guides.flatMap(({ path, words }) =>
    words
      .filter(word => places.test(word) || files.test(word))
      // In every project, and for the agent.
      .filter(word => !/^(?:AGENTS|CLAUDE|SOUL|MEMORY|USER|SKILL)\.md$/.test(word))
      .filter(word => !existsSync(word) && !existsSync(join(dirname(path), word)))
      .map(word => `${path}: ${word}`),
  )
  assert.equal(named, [])
})

test('addresses of the service are those of the route table, with their method', () => {
  /** Of programs beside the service: the forwarder, proxies, other servers. */
  const others =
    /^\/(?:forward\/health|v1\/runs|v1\/audio|cells\/|dev\/|etc\/|tmp|mnt\/|var\/|data|proc\/|usr\/|home\/|agents?\b|share\/:)/
  const isRoute = (method: string | undefined, path: string) =>
    all.some(route => {
      const pattern = route.pattern.replace(/:\w+/g, '[^/]+').replace(/\*$/, '.*')
      const isThere = new RegExp(`^${pattern}$`).test(path.replace(/\{\w+\}/g, 'x'))
      return isThere && (method === undefined || route.method === method)
    })
  const problems = guides.flatMap(({ path: page, words }) =>
    words.flatMap(word => {
      const [, method, path = ''] =
        /^(?:(GET|POST|PUT|PATCH|DELETE) )?(\/(?:api|v1|health|ready|metrics|session|share|login)\b[\w./{}:-]*)$/.exec(
          word,
        ) ?? []
      if (path === '' || others.test(path)) return []
      // The beginning of several.
      const isBeginning =
        method === undefined && all.some(route => route.path.startsWith(`${path}/`))
      return isBeginning || isRoute(method, path) ? [] : [`${page}: ${word}`]
    }),
  )
  assert.equal(problems, [])
})

test('keys of config.yaml that are named are read, or listed as those of others', () => {
  const keys = [...configKeysPage().matchAll(/`([a-z_]+(?:\.[\w*]+)*)`/g)].map(
    ([, key]) => key ?? '',
  )
  const known = new Set(keys)
  const sections = new Set(keys.filter(key => key.includes('.')).map(key => key.split('.')[0]))
  const file = /\.(?:jsonl?|ya?ml|db|md|ts|lock|test|service|mjs|conf|txt|example|org|com)$/
  const problems = guides.flatMap(({ path, words }) =>
    words
      .map(word => word.split(':')[0] ?? '')
      .filter(word => /^[a-z_]+(?:\.[a-z_]+)+$/.test(word) && !file.test(word))
      .filter(word => sections.has(word.split('.')[0]))
      .filter(word => !known.has(word) && !keys.some(key => key.startsWith(`${word}.`)))
      .filter(word => !known.has(word.replace(/\.[a-z_]+(?=\.)/, '.*')))
      .map(word => `${path}: ${word}`),
  )
  assert.equal(problems, [])
})

test('no key is both read and listed as not read', () => {
  const [isRead = '', notRead = ''] = configKeysPage().split('## Keys that are not read')
  const keys = new Set(isRead.match(/^\| `[^`]+`/gm))
  const listed = notRead
    .match(/^\| (?:`[^`]+`(?:, )?)+/gm)
    ?.flatMap(row => row.match(/`[^`]+`/g) ?? [])
  assert.ok(listed && listed.length > 20)
  assert.equal(
    listed.filter(key => keys.has(`| ${key}`)),
    [],
  )
})

/** Of other programs, standards, and APIs. */
const OF_OTHERS = [
  'client_secret_post',
  'context_management',
  'hooks_auto_accept',
  'local_shell',
  'max_connections',
  'synchronous_standby_names',
]

test('names of tools, codes, events, and keys are in the code', () => {
  const code = globSync(['{lib,handlers,public}/**/*.{ts,tsx}', 'build/config-docs.ts'])
    .map(read)
    .join()
  const known = new Set(code.match(/[a-z]+(?:_[a-z]+)+/g))
  const problems = guides.flatMap(({ path, words }) =>
    words
      .filter(word => /^[a-z]+(?:_[a-z]+)+$/.test(word) && !OF_OTHERS.includes(word))
      // Metrics of Node.js and its process.
      .filter(word => !/^(?:process|nodejs)_/.test(word))
      // A metric has a beginning and a unit.
      .filter(word => {
        const name = word.replace(/^agent_webui_/, '')
        return !known.has(name) && !known.has(name.replace(/_total$/, ''))
      })
      .map(word => `${path}: ${word}`),
  )
  assert.equal(problems, [])
})

test('each address on this machine has the port that is the default, or is explained', () => {
  const { port } = readConfig({ HOME: '/home/me' }, [])
  /** A second service, a collector of traces. */
  const others = [8788, 4318]
  const problems = guides.flatMap(({ path, text }) =>
    [...text.matchAll(/(?:127\.0\.0\.1|localhost):(\d+)/g)]
      .filter(([, found]) => Number(found) !== port && !others.includes(Number(found)))
      .map(([address]) => `${path}: ${address}`),
  )
  assert.equal(problems, [])
})

/** About the page of the service; others speak of other programs. */
const OF_PAGE = /^docs\/(?:backup|install|operations|using|tasks|share|offline|memory)\.md$/

test('places of the page are called what the page calls them', () => {
  const texts = execFileSync('git', ['ls-files', 'public'], { encoding: 'utf8' })
    .split('\n')
    .filter(path => /(?:strings|server-text)\.ts$/.test(path))
    .flatMap(path => [...read(path).matchAll(/: (?:'((?:[^'\\]|\\.)+)'|"([^"]+)")/g)])
    .map(([, single, double]) => (single ?? double ?? '').replace(/\\'/g, "'"))
  const isText = (text: string) =>
    texts.some(known => text.startsWith(known) && !/^[\p{L}\p{N}]/u.test(text.slice(known.length)))
  const problems = guides.flatMap(({ path, text }) =>
    [...text.matchAll(/\bSettings((?: → [^.,;:)|*→]+)+)/g)]
      .flatMap(([, found = '']) => found.split(' → ').slice(1))
      .filter(place => !isText(place))
      .map(place => `${path}: ${place}`),
  )
  assert.equal(problems, [])
  const named = guides.flatMap(({ path, italics }) =>
    (OF_PAGE.test(path) ? italics : [])
      .filter(name => !name.endsWith(':') && !texts.some(text => text.startsWith(name)))
      .map(name => `${path}: ${name}`),
  )
  assert.equal(named, [])
})

// ── Figures ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const [SECOND, MINUTE, DAY] = [1_000, 60_000, 86_400_000] as const
const MB = 1024 * 1024

/** What a page says, and the constant that decides it. */
// biome-ignore format: one line per row, to be read as a table
const FIGURES: readonly [page: string, says: string, path: string, name: string, value: number][] = [
  ['remote-access', 'signed in for 30 days', 'lib/people/sign-ins.ts', 'PAIRED_LIFETIME_MS', 30 * DAY],
  ['remote-access', 'once, for five minutes', 'lib/people/pairing.ts', 'LIFETIME_MS', 5 * MINUTE],
  ['remote-access', 'more than ten minutes ago', 'lib/people/auth.ts', 'FRESH_MS', 10 * MINUTE],
  ['people', 'works once, for 24 hours', 'lib/people/invitations.ts', 'INVITATION_MS', DAY],
  ['single-sign-on', 'within five minutes', 'lib/people/oidc.ts', 'LIFETIME_MS', 5 * MINUTE],
  ['single-sign-on', 'one minute of tolerance', 'lib/people/oidc.ts', 'CLOCK_TOLERANCE_MS', MINUTE],
  ['single-sign-on', 'for 24 hours', 'lib/people/sign-ins.ts', 'SIGN_IN_LIFETIME_MS', DAY],
  ['configuration', 'at most 1,024 characters', 'lib/people/passwords.ts', 'MAX_PASSWORD_CHARS', 1_024],
  ['install', 'kept for 24 hours', 'lib/workspaces/trash.ts', 'KEPT_MS', DAY],
  ['install', 'five minutes after it ends', 'lib/http/hub.ts', 'IDLE_LOG_MS', 5 * MINUTE],
  ['hooks', '600 at most', 'lib/profiles/hooks/config.ts', 'MAX_TIMEOUT_S', 600],
  ['hooks', '5 times at most', 'lib/profiles/hooks/turn-hooks.ts', 'MAX_CONTINUATIONS', 5],
  ['hooks', 'more than 1 MB', 'lib/profiles/hooks/run-command.ts', 'MAX_STDOUT_BYTES', MB],
  ['api', 'eight requests running', 'lib/client-api/client-api.ts', 'MAX_RUNNING', 8],
  ['api', 'up to 10 MB, as base64', 'lib/client-api/client-api.ts', 'MAX_IMAGE_BYTES', 10 * MB],
  ['operations', 'At most 100 pairs', 'lib/operations/telemetry/metrics.ts', 'MAX_MODELS', 100],
  ['sandbox', '4,096 processes', 'lib/commands/sandbox/availability.ts', 'MAX_PROCESSES', 4_096],
  ['commands-and-subagents', '64 characters', 'lib/profiles/skills/front-matter.ts', 'MAX_NAME_CHARS', 64],
  ['cluster', '`AGENT_WEBUI_CLUSTER_CAPACITY` | `10`', 'lib/base/cluster-settings.ts', 'DEFAULT_CAPACITY', 10],
  ['cluster', '`AGENT_WEBUI_CLUSTER_PROCESSES` | `4096`', 'lib/cli/cell-limits.ts', 'DEFAULT_PROCESSES', 4_096],
  ['cluster', '`AGENT_WEBUI_CLUSTER_DISK` | `10G`', 'lib/base/cluster-settings.ts', 'DEFAULT_DISK_GB', 10],
  ['cluster', '`AGENT_WEBUI_CLUSTER_IDLE` | `15`', 'lib/base/cluster-settings.ts', 'DEFAULT_IDLE_MINUTES', 15],
  ['cluster', '32 characters or more', 'lib/base/cluster-settings.ts', 'MIN_KEY_CHARS', 32],
  ['cluster', 'after 30 seconds they get a 503', 'lib/app/cell.ts', 'HOLD_MS', 30 * SECOND],
  ['api', 'Five wrong tokens a minute', 'lib/people/throttle.ts', 'MAX_ATTEMPTS', 5],
  ['api', 'heartbeat every 15 seconds', 'lib/base/sse.ts', 'HEARTBEAT_MS', 15 * SECOND],
  ['api', 'a request can have 20 MB', 'lib/http/body.ts', 'MAX_BODY_BYTES', 20 * MB],
  ['reverse-proxies', 'bodies of 20 MB', 'lib/http/body.ts', 'MAX_BODY_BYTES', 20 * MB],
  ['api', 'are kept for a day', 'lib/http/request-keys.ts', 'KEPT_MS', DAY],
  ['cluster', 'One that gives none for ten', 'lib/base/cluster-settings.ts', 'STALE_MS', 10 * SECOND],
  ['diagnostics', 'six in the whole service', 'lib/workspaces/diagnostics/diagnostics.ts', 'MAX_SERVERS', 6],
  ['diagnostics', 'At most 20 lines', 'lib/workspaces/diagnostics/compare.ts', 'MAX_LINES', 20],
  ['diagnostics', 'eight files edited last', 'lib/workspaces/diagnostics/documents.ts', 'MAX_OPEN', 8],
  ['diagnostics', 'about 5,000 source files', 'lib/workspaces/diagnostics/file-changes.ts', 'MAX_FILES', 5_000],
  ['mcp', 'half an hour without use', 'lib/mcp/mcp.ts', 'IDLE_MS', 30 * MINUTE],
  ['notifications', 'tried again for a day', 'lib/notifications/sender.ts', 'MAX_AGE_MS', DAY],
  ['notifications', 'after 5 s', 'lib/notifications/notifications.ts', 'FIRST_DELAY_MS', 5 * SECOND],
  ['permissions', 'more than 100,000 characters', 'lib/agent/shell/syntax.ts', 'MAX_COMMAND_CHARS', 100_000],
  ['sign-in', 'Two minutes before its token expires', 'lib/models/sign-in/sign-ins.ts', 'SKEW_MS', 2 * MINUTE],
  ['using', 'more than 20,000 characters', 'public/features/composer/long-text.ts', 'ATTACHED_CHARS', 20_000],
  ['using', 'up to 10 MB each', 'lib/agent/images.ts', 'MAX_IMAGE_BYTES', 10 * MB],
  ['using', 'files over 10 MB', 'lib/workspaces/checkpoints/scan-workspace.ts', 'fileBytes', 10 * MB],
  ['using', 'beyond 20,000 files', 'lib/workspaces/checkpoints/scan-workspace.ts', 'files', 20_000],
  ['using', 'or 500 MB', 'lib/workspaces/checkpoints/scan-workspace.ts', 'totalBytes', 500 * MB],
  ['using', 'the last 20 chats', 'public/sw/kept.ts', 'MAX_SESSIONS', 20],
  ['offline', 'the last 20 you opened', 'public/sw/kept.ts', 'MAX_SESSIONS', 20],
  ['operations', '`tool-output/` | 256 MB', 'lib/sessions/tool-output.ts', 'MAX_TOTAL_BYTES', 256 * MB],
  ['moving-here', 'larger than 64 MB', 'lib/sessions/imports/imports.ts', 'MAX_CONVERSATION_BYTES', 64 * MB],
  ['install', '| 78 | a variable', 'lib/errors.ts', 'EXIT_SETUP', 78],
]

test('the times of the cluster leave room for each other, and the page has them', () => {
  assert.ok(3 * BEAT_MS <= LEASE_MS, 'two signs of life may be late')
  assert.ok(LEASE_MS < STALE_MS, 'an owner stops answering before another one takes over')
  assert.ok(STATEMENT_MS + BEAT_MS <= STALE_MS, 'a slow statement leaves time for a sign of life')
  assert.ok(TAKEOVER_MS >= 2 * STALE_MS, 'a request waits until the next owner has started')
  const page = read('docs/cluster.md').replace(/\s+/g, ' ')
  for (const [ms, says] of [
    [BEAT_MS, 'a sign of life every two seconds'],
    [LEASE_MS, 'prove for six seconds'],
    [TAKEOVER_MS, 'waits up to 25 seconds'],
  ] as const) {
    const numbers: Record<string, number> = { two: 2, six: 6 }
    const word = /(?:every|for|to) (\w+) seconds/.exec(says)?.[1] ?? ''
    assert.is((numbers[word] ?? Number(word)) * SECOND, ms, says)
    assert.match(page, says)
  }
})

test('figures are those of the code', () => {
  const problems = problemsOf(
    FIGURES,
    ([page, says]) => `docs/${page}.md: ${says}`,
    ([page, says, path, name, value]) => {
      const text = read(`docs/${page}.md`).replace(/\s+/g, ' ')
      assert.ok(text.includes(says), 'the page does not say it')
      assert.is(constantOf(path, name), value)
    },
  )
  assert.equal(problems, [])
})

test.run()
