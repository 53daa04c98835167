/** Control files change only after the user's approval, whichever setting is off and however the path is reached. */
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startChat } from '../../handlers/_chat.ts'
import { create, runNow } from '../../handlers/_crons.ts'

const test = suite('control files')

type Chat = Awaited<ReturnType<typeof startChat>>
type Call = { name: string; arguments: Record<string, unknown> }

const FILES = [
  'config.yaml',
  'auth.json',
  'mcp-tokens/agent-webui/p.json',
  'gateway.json',
  'cron/jobs.json',
  'scripts/nightly.sh',
  'hooks/hook.py',
  'skills/brew/scripts/go.sh',
  'webui/settings.json',
]

const SKILL = '---\nname: brew\ndescription: Brews coffee.\n---\nBoil the water.\n'

/** A home with everything in it and nothing left to ask, and a workspace with links to it. */
const begin = async (folder?: (app: Chat['app']) => string) => {
  const chat = await startChat()
  const { app, provider } = chat
  const put = (name: string, text: string) => {
    mkdirSync(dirname(join(app.home, name)), { recursive: true })
    if (!existsSync(join(app.home, name))) writeFileSync(join(app.home, name), text)
  }
  put('skills/brew/SKILL.md', SKILL)
  for (const name of FILES) put(name, name.endsWith('.json') ? '{}' : '# kept\n')
  writeFileSync(
    join(app.home, 'config.yaml'),
    [
      `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model`,
      'approvals:\n  mode: off',
      'checkpoints:\n  enabled: false',
      'command_allowlist:',
      ...[
        'change what decides about the agent',
        'write outside the workspace',
        'script execution via -e/-c flag',
        'shell command via -c/-lc flag',
        'command not understood',
      ].map(label => `  - ${label}`),
      '',
    ].join('\n'),
  )
  const dir = folder?.(app) ?? join(app.userHome, 'project')
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'new.txt'), 'approvals: {mode: off}\n')
  symlinkSync(join(app.home, 'config.yaml'), join(dir, 'link.yaml'))
  symlinkSync(app.home, join(dir, 'folder'))
  symlinkSync(join(app.home, 'skills/brew/scripts'), join(dir, 'tools'))
  linkSync(join(app.home, 'config.yaml'), join(dir, 'hard.yaml'))
  linkSync(join(app.home, 'skills/brew/scripts/go.sh'), join(dir, 'hard.sh'))
  await app.post('/api/workspaces/add', { path: dir })
  const { body } = await app.post('/api/session/new', { workspace: dir })
  const id = String(body.session.session_id)
  await app.post('/api/session/yolo', { session_id: id, enabled: true })
  // What was not read is not overwritten anyway.
  const paths = [...FILES.map(name => join(app.home, name)), 'hard.yaml', 'hard.sh']
  const toolCalls = paths.map(path => ({ id: path, name: 'read_file', arguments: { path } }))
  provider.push({ toolCalls }, { text: 'Read.' })
  await chat.turn(id, 'read')
  return { chat, id }
}

const stateOf = (home: string) =>
  [...FILES, 'skills/brew/scripts/new.sh', 'scripts/new.sh', 'hooks/new.py'].map(name => {
    const path = join(home, name)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    return [name, stat === undefined ? null : [stat.ino, readFileSync(path, 'utf8')]]
  })

const terminal = (command: string): Call => ({ name: 'terminal', arguments: { command } })
const write = (path: string): Call => ({ name: 'write_file', arguments: { path, content: 'x' } })
const script = (code: string): Call => ({ name: 'execute_code', arguments: { code } })

/**
 * Every way to a control file that the tools have; each of them would change one. Without a sandbox, what a program finds out
 * when it runs is in no text: then the changed settings are not in force until a person accepts them (guards).
 */
const attempts = ({ app }: Chat): Call[] => {
  const at = (name: string) => join(app.home, name)
  const config = at('config.yaml')
  // Put together when it runs: the script itself says nothing of the place.
  const parts = JSON.stringify([...config])
  return [
    ...FILES.flatMap(name => [
      write(at(name)),
      terminal(`echo x >> ${at(name)}`),
      terminal(`cp new.txt ${at(name)}`),
      terminal(`rm -f ${at(name)}`),
    ]),
    ...['link.yaml', 'hard.yaml', 'hard.sh', 'folder/config.yaml', 'folder/scripts/new.sh'].flatMap(
      path => [
        write(path),
        terminal(`echo x >> ${path}`),
        terminal(`echo x > ${path}`),
        terminal(`cp new.txt ${path}`),
        terminal(`tee ${path} < new.txt`),
        terminal(`sed -i 's/./x/' ${path}`),
        terminal(`dd if=new.txt of=${path}`),
      ],
    ),
    ...['tools/go.sh', 'tools/new.sh', 'folder/hooks/new.py', at('skills/brew/scripts/new.sh')].map(
      write,
    ),
    terminal(`mv new.txt ${config}`),
    terminal(`mv new.txt folder/config.yaml`),
    terminal(`ln -sf "$PWD/new.txt" ${config}`),
    terminal(`ln -f new.txt ${config}`),
    terminal(`mv ${at('scripts')} gone`),
    terminal(`rm -rf folder/hooks`),
    terminal(`truncate -s 0 hard.yaml`),
    terminal(`cat new.txt >| link.yaml`),
    terminal(`cd folder && echo x >> config.yaml`),
    terminal(`cd tools && echo x >> go.sh`),
    terminal(`f=hard; echo x >> $f.yaml`),
    terminal(`echo x | tee -a hard*`),
    terminal(`bash -c 'echo x >> hard.yaml'`),
    terminal(`python3 -c "open('hard.yaml', 'w').write('x')"`),
    terminal(`python3 -c "open('${config}', 'a').write('x')"`),
    terminal(`patch hard.yaml < new.txt`),
    { name: 'terminal', arguments: { command: `echo x >> ${config}`, background: true } },
    { name: 'terminal', arguments: { command: 'echo x >> config.yaml', workdir: app.home } },
    { name: 'patch', arguments: { path: config, old_string: 'mode: off', new_string: 'x' } },
    { name: 'patch', arguments: { path: 'hard.yaml', old_string: 'mode: off', new_string: 'x' } },
    {
      name: 'patch',
      arguments: {
        mode: 'patch',
        patch: `*** Begin Patch\n*** Delete File: ${at('hooks/hook.py')}\n*** End Patch`,
      },
    },
    {
      name: 'patch',
      arguments: {
        mode: 'patch',
        patch: `*** Begin Patch\n*** Add File: folder/scripts/new.sh\n+x\n*** End Patch`,
      },
    },
    {
      name: 'patch',
      arguments: {
        mode: 'patch',
        patch: `*** Begin Patch\n*** Update File: new.txt\n*** Move to: ${at('hooks/new.py')}\n@@\n-approvals: {mode: off}\n+x\n*** End Patch`,
      },
    },
    ...['scripts/go.sh', 'scripts/new.sh'].map(file_path => ({
      name: 'skill_manage',
      arguments: { action: 'write_file', name: 'brew', file_path, file_content: 'echo x\n' },
    })),
    {
      name: 'skill_manage',
      arguments: {
        action: 'patch',
        name: 'brew',
        file_path: 'scripts/go.sh',
        old_string: '# kept',
        new_string: '# changed',
      },
    },
    {
      name: 'skill_manage',
      arguments: { action: 'remove_file', name: 'brew', file_path: 'scripts/go.sh' },
    },
    script(`open(${JSON.stringify(config)}, "w").write("x")`),
    script(`open("hard.yaml", "w").write("x")`),
    script(`print(write_file("".join(${parts}), content="x"))`),
    script(`print(write_file("har" + "d.yaml", content="x"))`),
    script(`print(patch(path="har" + "d.yaml", old_string="mode: off", new_string="x"))`),
    script(`print(terminal("echo x >> " + "".join(${parts})))`),
    script(`print(terminal("echo x >> har" + "d.yaml"))`),
  ]
}

type Asked = { approval_id: string; command: string; choices?: string[] }

/** One turn with these calls; every question is answered with `choice`. */
const act = async (chat: Chat, id: string, calls: Call[], choice: string) => {
  chat.provider.clear()
  chat.provider.push(
    { toolCalls: calls.map((call, at) => ({ id: `c${at}`, ...call })) },
    { text: 'Done.' },
  )
  const asked: Asked[] = []
  const stream = await chat.send(id, 'go')
  for await (const event of chat.app.events(`/api/chat/stream?stream_id=${stream}&after=0`)) {
    if (event.event === 'stream_end') break
    if (event.event !== 'approval') continue
    const question = event.data as Asked
    asked.push(question)
    const { approval_id } = question
    await chat.app.post('/api/approval/respond', { session_id: id, approval_id, choice })
  }
  return asked
}

/** What was said to calls that were not stopped. */
const unstopped = async (chat: Chat, id: string, calls: readonly Call[]): Promise<string[]> => {
  const said = (await chat.messages(id)).filter(({ role }) => role === 'tool').slice(-calls.length)
  assert.is(said.length, calls.length)
  return calls.flatMap((call, at) => {
    const content = String(said[at]?.content)
    return /denied|Refused|Not approved|file_not_read/.test(content)
      ? []
      : [`${call.name} ${JSON.stringify(call.arguments)}: ${content}`]
  })
}

test('control files need approval despite mode off, yolo and allowed labels; denied, nothing changes', async () => {
  const { chat, id } = await begin()
  try {
    const calls = attempts(chat)
    const before = stateOf(chat.app.home)
    const asked = await act(chat, id, calls, 'deny')
    assert.equal(await unstopped(chat, id, calls), [])
    for (const { choices, command } of asked) assert.equal(choices, ['once', 'deny'], command)
    assert.equal(stateOf(chat.app.home), before)
  } finally {
    await chat.close()
  }
})

test('an answer applies to one request only', async () => {
  const { chat, id } = await begin()
  try {
    for (const choice of ['always', 'session', 'once'])
      for (const call of [
        terminal(`echo '# x' >> ${join(chat.app.home, 'config.yaml')}`),
        write(join(chat.app.home, 'scripts/new.sh')),
      ])
        assert.is((await act(chat, id, [call], choice)).length, 1, `${choice} ${call.name}`)
    assert.equal((await chat.app.get('/api/approval/grants')).body.grants, [])
  } finally {
    await chat.close()
  }
})

test('turning approvals off does not answer an open request', async () => {
  const { chat, id } = await begin()
  const { app, provider } = chat
  try {
    await app.post('/api/session/yolo', { session_id: id, enabled: false })
    const call = write(join(app.home, 'scripts/new.sh'))
    provider.push({ toolCalls: [{ id: 'c', ...call }] }, { text: 'Done.' })
    const stream = await chat.send(id, 'go')
    await chat.follow(stream, 'approval')
    await app.post('/api/session/yolo', { session_id: id, enabled: true })
    const { body } = await app.get(`/api/approval/pending?session_id=${id}`)
    assert.is(body.pending_count, 1)
    const { approval_id } = body.pending
    await app.post('/api/approval/respond', { session_id: id, approval_id, choice: 'deny' })
    await chat.follow(stream)
    assert.not(existsSync(join(app.home, 'scripts/new.sh')))
  } finally {
    await chat.close()
  }
})

test('unparsable commands and scripts need approval or are rejected', async () => {
  const { chat, id } = await begin()
  try {
    const config = join(chat.app.home, 'config.yaml')
    const before = stateOf(chat.app.home)
    const long = '#'.repeat(60_000)
    const calls = [
      terminal(`: ${'$(:)'.repeat(3_001)}; echo x >> ${config}`),
      terminal(`: ${'a'.repeat(100_000)}; echo x >> ${config}`),
      script(`${long}\n${long}\nopen(${JSON.stringify(config)}, "w").write("x")`),
      script(`${long}\nopen(${JSON.stringify(config)}, "w").write("x")`),
    ]
    const asked = await act(chat, id, calls, 'deny')
    assert.equal(await unstopped(chat, id, calls), [])
    assert.equal(stateOf(chat.app.home), before)
    // What is asked about is sent whole, however long it is.
    assert.equal(
      asked.map(({ command }) => command),
      [calls[3]?.arguments.code],
    )
  } finally {
    await chat.close()
  }
})

test('in unattended runs control files cannot change', async () => {
  const { chat } = await begin(app => join(app.state, 'workspace'))
  const { app, provider } = chat
  try {
    const job = await create(app)
    const every = process.env.PROOF === 'full' ? 1 : 3
    const calls = attempts(chat).filter((_, at) => at % every === 0)
    // The job's own records change with its run.
    const kept = () =>
      stateOf(app.home).filter(([name]) => !/jobs\.json|settings\.json/.test(String(name)))
    const before = kept()
    provider.push(
      { toolCalls: calls.map((call, at) => ({ id: `c${at}`, ...call })) },
      { text: 'Done.' },
    )
    await runNow(app, job)
    assert.equal(kept(), before)
    const [row] = (await app.get('/api/sessions')).body.sessions.filter(
      (each: { source_tag: string }) => each.source_tag === 'cron',
    )
    assert.equal(await unstopped(chat, row.session_id, calls), [])
    const journal = readFileSync(join(app.state, 'sessions', `${row.session_id}.jsonl`), 'utf8')
    // What was allowed without a question is noted; nobody was asked.
    assert.not.match(journal, /"t":"answered"(?![^\n]*"auto")/)
  } finally {
    await chat.close()
  }
})

test.run()
