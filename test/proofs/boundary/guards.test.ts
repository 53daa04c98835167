/** Every key of a shared home that asks for a guard: kept, or what it guards is refused until the person accepts the value. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startChat } from '../../handlers/_chat.ts'

const guards = suite('guards')

type Chat = Awaited<ReturnType<typeof startChat>>

/** A home with this configuration beside its model, and these variables in its .env. Without checkpoints, which cost each command six git calls. */
const configure = ({ app, provider }: Chat, yaml: string, dotenv = ''): void => {
  const model = `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\ncheckpoints:\n  enabled: false\n`
  writeFileSync(join(app.home, 'config.yaml'), `${model}${yaml}\n`)
  writeFileSync(join(app.home, '.env'), dotenv)
}

/** Runs a turn in which the model calls one tool; returns the tool result sent to the model. */
const act = async (
  chat: Chat,
  name: string,
  args: Record<string, unknown>,
  prepare: (id: string) => Promise<unknown> = async () => undefined,
): Promise<string> => {
  const { provider } = chat
  const from = provider.requests.length
  provider.otherwise = body => {
    if (!body.tools?.length) return { text: 'A title' }
    return body.messages.at(-1).role === 'tool'
      ? { text: 'Done.' }
      : { toolCalls: [{ id: 'c1', name, arguments: args }] }
  }
  const id = await chat.newSession()
  await prepare(id)
  await chat.turn(id, 'go on')
  const result = provider.requests
    .slice(from)
    .map(({ body }) => body.messages.at(-1))
    .find(message => message.role === 'tool')
  assert.ok(result, `the model received no result of ${name}`)
  return result.content
}

let marks = 0
/** Runs a command; returns whether it ran, and the tool result sent to the model. */
const command = async (chat: Chat, before = '', prepare?: (id: string) => Promise<unknown>) => {
  const mark = join(chat.app.userHome, `ran-${++marks}`)
  const result = await act(chat, 'terminal', { command: `${before}touch ${mark}` }, prepare)
  return { ran: existsSync(mark), result }
}

/** Everything that must not run, with the key the sentence has to name. */
const REFUSED: [yaml: string, names: string, dotenv?: string][] = [
  ['terminal:\n  backend: ssh\n  ssh_host: far', 'terminal.backend'],
  ['terminal:\n  backend: singularity', 'terminal.backend'],
  ['terminal:\n  backend: modal', 'terminal.backend'],
  ['terminal:\n  backend: daytona', 'terminal.backend'],
  ['terminal:\n  backend: vercel_sandbox', 'terminal.backend'],
  ['terminal:\n  backend: dokcer', 'terminal.backend'],
  ['sandbox: ture', 'sandbox'],
  ['sandbox: [enabled]', 'sandbox'],
  ['sandbox:\n  enabled: ture', 'sandbox.enabled'],
  ['sandbox:\n  enable: true', 'It has no key enable'],
  ['terminal:\n  backend: [docker]', 'terminal.backend'],
  ['terminal:\n  backend: {name: docker}', 'terminal.backend'],
  ['terminal:\n  backend: 5', 'terminal.backend'],
  ['terminal:\n  backend: true', 'terminal.backend'],
  ['terminal: docker', 'terminal'],
  ['terminal: [docker]', 'terminal'],
  ['terminal:\n  env_type: ssh', 'terminal.env_type'],
  ['', 'TERMINAL_ENV', 'TERMINAL_ENV=modal\n'],
  ['hooks:\n  PermissionRequest:\n    - command: /bin/false', 'hooks'],
  ['hooks: [a]', 'hooks'],
  ['hooks: yes', 'hooks'],
  ['approvals: off', 'approvals'],
  ['approvals:\n  deny: {rm: true}', 'approvals.deny'],
  ['approvals:\n  deny:\n    - git push: force', 'approvals.deny'],
  ['approvals:\n  deny: "*touch*"', 'approvals.deny'],
  ['approvals:\n  deny: ["*TOUCH*"]', 'approvals.deny'],
  ['approvals:\n  mode: off\n  deny: ["touch *"]', 'approvals.deny'],
  ['approvals:\n  command_approval_required: ["touch *"]', 'approvals.command_approval_required'],
  ['command_allowlist: ["touch *", "touch"]\napprovals:\n  deny: ["touch *"]', 'approvals.deny'],
  ['security: strict', 'security'],
  ['security:\n  tirith_fail_open: false', 'security.tirith_fail_open'],
  ['security:\n  tirith_fail_open: nope', 'security.tirith_fail_open'],
  ['agent:\n  disabled_toolsets: {terminal: true}', 'agent.disabled_toolsets'],
  ['platform_toolsets:\n  cli: {web: true}', 'platform_toolsets.cli'],
  ['platform_toolsets: [web]', 'platform_toolsets'],
]

/** What asks for nothing, or for what is had. */
const FREE: [yaml: string, dotenv?: string][] = [
  [''],
  ['terminal:\n  backend: local'],
  ['terminal:\n  backend: " Local "'],
  ['terminal:\n  backend:'],
  ['terminal:\n  backend: local\n  env_type: docker'],
  ['terminal:\n  backend: local', 'TERMINAL_ENV=docker\n'],
  ['terminal:'],
  ['hooks: {}'],
  ['hooks:'],
  ['hooks: []'],
  ['hooks:\n  pre_tool_call:\n    - command: /bin/true\n  SessionEnd:\n    - command: x'],
  ['approvals:'],
  ['approvals:\n  deny: []'],
  ['approvals:\n  deny: ["rm *", "git push --force*"]'],
  ['security:\n  tirith_enabled: true\n  tirith_fail_open: true'],
  ['security:\n  tirith_enabled: false\n  tirith_fail_open: false'],
  ['security:\n  redact_secrets: false\nprivacy:\n  redact_pii: true'],
  ['agent:\n  disabled_toolsets: web'],
]

guards('an unsupported guard rejects every command and names file and key', async () => {
  const chat = await startChat()
  try {
    for (const [yaml, key, dotenv] of REFUSED) {
      configure(chat, yaml, dotenv)
      const { ran, result } = await command(chat)
      assert.not(ran, `${yaml || dotenv} did not stop the command`)
      assert.ok(result.includes(key), `${yaml}: ${result}`)
      assert.ok(result.includes(join(chat.app.home, dotenv ? '.env' : 'config.yaml')), result)
    }
    for (const [yaml, dotenv] of FREE) {
      configure(chat, yaml, dotenv)
      const { ran, result } = await command(chat)
      assert.ok(ran, `${yaml}: ${result}`)
    }
  } finally {
    await chat.close()
  }
})

/** Other ways to write `git push --force`; `X` is the command that proves it ran. */
const DISGUISES = [
  'git push --force origin main',
  'GIT   push  --FORCE',
  'g"i"t pu\'\'sh --force',
  'g\\it push --force',
  'cd / && git push --force',
  'true; git push --force; true',
  'env A=b git push --force',
  'sudo git push --force',
  '/usr/bin/git push --force',
  'bash -c "git push --force"',
  'echo $(git push --force)',
  'if true; then git push --force; fi',
  'git \\\n push --force',
  'p=push; git $p --force',
  'git\u0000 push --force',
]

guards(
  'approvals.deny overrides yolo, mode off and session allowances, also for disguised commands',
  async () => {
    const chat = await startChat()
    try {
      configure(chat, 'approvals:\n  mode: off\n  deny: ["git push --force*"]')
      const yolo = (session_id: string) =>
        chat.app.post('/api/session/yolo', { session_id, enabled: true })
      for (const disguise of DISGUISES) {
        const { ran, result } = await command(chat, `${disguise}\n`, yolo)
        assert.not(ran, `ran: ${disguise}`)
        assert.match(result, /approvals\.deny|Refused/, disguise)
      }
      for (const harmless of ['git push origin main', 'echo "git pull"', 'git status']) {
        const { ran, result } = await command(chat, `${harmless} || true\n`, yolo)
        assert.ok(ran, `${harmless}: ${result}`)
      }
      // Input for a program that runs already, and a script that starts programs.
      configure(chat, 'approvals:\n  mode: off\n  deny: ["*forbidden*"]')
      const script = { code: 'import os\nos.system("echo forbidden")' }
      assert.match(await act(chat, 'execute_code', script), /approvals\.deny/)
      const within = { code: 'print(terminal("echo forbidden"))' }
      assert.match(await act(chat, 'execute_code', within), /approvals\.deny/)
    } finally {
      await chat.close()
    }
  },
)

guards(
  'an acceptance covers one value in one profile and expires when the value changes',
  async () => {
    const chat = await startChat()
    try {
      const list = async () => (await chat.app.get('/api/guards')).body.guards
      configure(chat, 'terminal:\n  backend: singularity')
      const [shown] = await list()
      assert.equal(
        [shown.key, shown.value, shown.accepted, shown.closes],
        ['terminal.backend', 'singularity', false, ['commands', 'scripts']],
      )
      const accept = (value_id: string, accepted = true, key = shown.key) =>
        chat.app.post('/api/guards/accept', { key, value_id, accepted })
      assert.is((await accept('0123456789')).status, 409)
      assert.is((await accept(shown.value_id, true, 'hooks')).status, 404)
      assert.not((await command(chat)).ran)
      assert.is((await accept(shown.value_id)).body.guards[0].accepted, true)
      assert.ok((await command(chat)).ran)
      assert.is(
        JSON.parse(readFileSync(join(chat.app.state, 'accepted-guards.json'), 'utf8')).default[
          'terminal.backend'
        ],
        shown.value_id,
      )

      configure(chat, 'terminal:\n  backend: ssh')
      assert.is((await list())[0].accepted, false)
      assert.not((await command(chat)).ran, 'another value is another question')
      configure(chat, 'terminal:\n  backend: singularity\nhooks:\n  pre_tool_call: [x]')
      assert.not((await command(chat)).ran, 'another guard is another question')
      configure(chat, 'terminal:\n  backend: singularity')
      assert.ok((await command(chat)).ran)
      await accept(shown.value_id, false)
      assert.not((await command(chat)).ran)

      // Of another profile nothing was accepted.
      await accept(shown.value_id)
      await chat.app.post('/api/profile/create', { name: 'work', clone_config: true })
      const other = await chat.app.request('GET', '/api/guards', {
        headers: { cookie: 'agent_profile=work' },
      })
      assert.equal([other.body.profile, other.body.guards[0].accepted], ['work', false])
      // A file that cannot be read accepts nothing.
      writeFileSync(join(chat.app.state, 'accepted-guards.json'), '{"default":')
      assert.not((await command(chat)).ran)
    } finally {
      await chat.close()
    }
  },
)

/** Nothing is refused, but the file says what is not so: the key, and what its sentence has to name. */
const NAMED: [yaml: string, key: string, says: RegExp, dotenv?: string][] = [
  [
    'agent:\n  disabled_toolsets: [termnal]',
    'agent.disabled_toolsets',
    /"termnal" names no toolset/,
  ],
  ['agent:\n  disabled_toolsets: Terminal', 'agent.disabled_toolsets', /"Terminal" names no/],
  ['agent:\n  disabled_toolsets: [web, execute_code]', 'agent.disabled_toolsets', /"execute_code"/],
  ['agent:\n  disabled_toolsets: "web, wbe"', 'agent.disabled_toolsets', /"wbe" names/],
  [
    'platform_toolsets:\n  cli: [web, fiel, brwser]',
    'platform_toolsets.cli',
    /"fiel", "brwser" name no/,
  ],
  ['toolsets: [web]', 'toolsets', /platform_toolsets\.cli/],
  ['skills:\n  disabled: [brw]', 'skills.disabled', /"brw" names no skill here/],
  ['skills:\n  disabled: brew-', 'skills.disabled', /"brew-" names no skill/],
  [
    'skills:\n  platform_disabled:\n    cli: [brew, a, b]',
    'skills.platform_disabled.cli',
    /"a", "b" name no skill/,
  ],
  ['security:\n  redact_secrets: false', 'security.redact_secrets', /always masks/],
  ['security:\n  redact_secrets: "off"', 'security.redact_secrets', /always masks/],
  ['', 'HERMES_REDACT_SECRETS', /always masks/, 'HERMES_REDACT_SECRETS=false\n'],
]
const NOT_NAMED = [
  'agent:\n  disabled_toolsets: [terminal, browser, moa, hermes-telegram, safe, odd]\nmcp_servers:\n  odd: {command: x, enabled: false}',
  'platform_toolsets:\n  cli: [hermes-cli, no_mcp]',
  'toolsets: [hermes-cli]',
  'skills:\n  disabled: [brew, coffee]',
  'skills:\n  disabled: []',
  'toolsets:',
  'security:\n  redact_secrets: true',
  'security:\n  redact_secrets:',
]

guards('reports a setting without effect, which rejects nothing and can be dismissed', async () => {
  const chat = await startChat()
  try {
    mkdirSync(join(chat.app.home, 'skills/coffee'), { recursive: true })
    writeFileSync(
      join(chat.app.home, 'skills/coffee/SKILL.md'),
      '---\nname: brew\ndescription: Brews coffee.\n---\nBoil the water.\n',
    )
    const list = async () => (await chat.app.get('/api/guards')).body.guards
    const named = async () => (await chat.app.get('/api/config/problems')).body.guards
    for (const [yaml, key, says, dotenv] of NAMED) {
      configure(chat, yaml, dotenv)
      const [found, ...others] = await list()
      assert.equal([found?.key, found?.closes, others], [key, [], []], yaml)
      assert.match(found.why, says)
      assert.is((await named()).length, 1, yaml)
    }
    assert.ok((await command(chat)).ran)
    const [shown] = await list()
    const accept = { key: shown.key, value_id: shown.value_id, accepted: true }
    assert.is((await chat.app.post('/api/guards/accept', accept)).status, 200)
    assert.equal(await named(), [])
    for (const yaml of NOT_NAMED) {
      configure(chat, yaml)
      assert.equal(await list(), [], yaml)
    }
  } finally {
    await chat.close()
  }
})

guards(
  'file tools: hooks, a write root, instruction files; scripts, notes and skills by their own keys',
  async () => {
    const chat = await startChat()
    try {
      const { workspace } = (await chat.app.post('/api/session/new', {})).body.session
      const write = async (name: string) => {
        const path = join(workspace, name)
        const result = await act(chat, 'write_file', { path, content: `of ${name}` })
        return { there: existsSync(path), result }
      }
      configure(chat, '')
      assert.ok((await write('plain.txt')).there)
      configure(chat, 'hooks:\n  pre_tool_call: [x]')
      const hooked = await write('hooked.txt')
      assert.equal([hooked.there, hooked.result.includes('hooks')], [false, true])
      for (const name of ['HERMES_WRITE_SAFE_ROOT', 'AGENT_WRITE_SAFE_ROOT']) {
        mkdirSync(join(workspace, 'open'), { recursive: true })
        configure(chat, '', `${name}=/nowhere:${join(workspace, 'open')}\n`)
        const outside = await write(`${name}.txt`)
        assert.equal([outside.there, outside.result.includes(name)], [false, true])
        assert.ok((await write(`open/${name}.txt`)).there)
        const escaping = await write(`open/../${name}.txt`)
        assert.not(escaping.there)
        const content = '---\nname: x\ndescription: y\n---\nz'
        const skill = await act(chat, 'skill_manage', { action: 'create', name: 'x', content })
        assert.match(skill, name)
        assert.not(existsSync(join(chat.app.home, 'skills')))
      }
      configure(
        chat,
        'security:\n  protected_instruction_files: true\n  protected_instruction_extra_patterns: ["*.mdc"]',
      )
      assert.not((await write('AGENTS.md')).there)
      assert.not((await write('rules.mdc')).there)
      assert.ok((await write('README.md')).there)

      configure(chat, 'approvals:\n  mode: off\ncode_execution:\n  mode: strict')
      assert.match(await act(chat, 'execute_code', { code: 'print(1)' }), /code_execution\.mode/)
      configure(chat, 'memory:\n  write_approval: true')
      const note = { action: 'add', target: 'memory', content: 'likes tea' }
      assert.match(await act(chat, 'memory', note), /memory\.write_approval/)
      configure(chat, 'skills:\n  write_approval: "yes please"')
      const skill = { action: 'create', name: 'x', content: '---\nname: x\ndescription: y\n---\nz' }
      assert.match(await act(chat, 'skill_manage', skill), /skills\.write_approval/)
    } finally {
      await chat.close()
    }
  },
)

guards.run()
