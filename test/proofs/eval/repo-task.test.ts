/**
 * Proof of the agent at work, in each wire format: a real repository with a failing test, read, mended, tested and
 * committed through the real service over HTTP, with the person asked where the rules say so.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../../_app.ts'
import { SIGNATURE, ENCRYPTED } from '../../_formats.ts'
import { git, writeFiles } from '../../_git.ts'
import { createProvider, type Step } from '../../_provider.ts'

const proof = suite('repo task')

const FILES = {
  'package.json': '{ "type": "module" }\n',
  'sum.js': 'export const sum = (a, b) => a - b\n',
  'sum.test.js':
    "import assert from 'node:assert'\nimport test from 'node:test'\nimport { sum } from './sum.js'\n\ntest('adds', () => assert.equal(sum(2, 3), 5))\n",
  'build/old.txt': 'left over\n',
}

const call = (id: string, name: string, args: Record<string, unknown>): Step => ({
  toolCalls: [{ id, name, arguments: args }],
})

const COMMIT =
  "rm -rf build && git add -A && git -c user.name=Ada -c user.email=ada@example.invalid commit -q -m 'Add instead of subtracting'"

const SCRIPT: Step[] = [
  {
    reasoning: 'First I look at what fails.',
    ...call('c1', 'terminal', { command: 'node sum.test.js' }),
  },
  { text: 'One test fails.', ...call('c2', 'read_file', { path: 'sum.js' }) },
  call('c3', 'patch', { path: 'sum.js', old_string: 'a - b', new_string: 'a + b' }),
  call('c4', 'terminal', { command: 'node sum.test.js' }),
  call('c5', 'terminal', { command: COMMIT }),
  { text: ['It adds now, ', 'and is committed.'] },
  { text: 'Mended the sum' },
]

const FORMATS: [apiMode: string, model: string, path: string, proofOfThought: string | null][] = [
  ['chat_completions', 'some-model', '/v1/chat/completions', null],
  ['anthropic_messages', 'claude-opus-4-6', '/v1/messages', SIGNATURE],
  ['codex_responses', 'gpt-5.4', '/v1/responses', ENCRYPTED],
]

type Message = { role: string; content: string; tool_call_id?: string }

const nodeTest = (dir: string): string =>
  execFileSync(process.execPath, ['sum.test.js'], { cwd: dir, env: {}, encoding: 'utf8' })

for (const [apiMode, model, path, proofOfThought] of FORMATS)
  proof(`finds, reads, fixes, tests, commits: ${apiMode}`, async () => {
    const provider = await createProvider(...SCRIPT)
    const app = await startApp({
      env: { PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ''}` },
    })
    try {
      const workspace = join(app.userHome, 'repo')
      writeFiles(workspace, FILES)
      git(workspace, 'init', '--quiet', '--template=', '--initial-branch=main')
      git(workspace, 'add', '-A')
      git(workspace, 'commit', '--quiet', '-m', 'first')
      assert.throws(() => nodeTest(workspace))
      writeFileSync(
        join(app.home, 'config.yaml'),
        `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: ${model}\n  api_mode: ${apiMode}\n`,
      )

      const { session } = (await app.post('/api/session/new', { workspace })).body
      const { session_id } = session
      const message = 'A test fails. Find out why, mend it and commit.'
      const { body } = await app.post('/api/chat/start', { session_id, message })
      const asked: string[] = []
      const seen: string[] = []
      for await (const event of app.events(`/api/chat/stream?stream_id=${body.stream_id}`)) {
        seen.push(event.event)
        if (event.event === 'approval') {
          const { approval_id, command } = event.data as Record<string, string>
          asked.push(String(command))
          await app.post('/api/approval/respond', { session_id, approval_id, choice: 'once' })
        }
        if (event.event === 'stream_end') break
      }

      assert.equal(asked, [COMMIT])
      assert.ok(seen.includes('done'), seen.join(' '))
      assert.match(nodeTest(workspace), /pass 1/)
      assert.is(git(workspace, 'log', '-1', '--format=%an %s'), 'Ada Add instead of subtracting')
      assert.is(git(workspace, 'status', '--porcelain'), '')
      assert.is(git(workspace, 'show', 'HEAD:sum.js'), 'export const sum = (a, b) => a + b')

      const { messages } = (await app.get(`/api/session?session_id=${session_id}`)).body.session
      const result = (id: string) =>
        JSON.parse(messages.find((one: Message) => one.tool_call_id === id).content)
      assert.is(result('c1').exit_code, 1)
      assert.match(result('c2').content, 'a - b')
      assert.is(result('c3').success, true)
      assert.is(result('c4').exit_code, 0)
      assert.is(messages.at(-1).content, 'It adds now, and is committed.')

      // Every call of the turn went where the format says, with what the model thought, which is written down nowhere.
      const turn = provider.requests.slice(0, SCRIPT.length - 1)
      assert.ok(turn.every(request => request.path === path))
      if (proofOfThought)
        for (const request of turn.slice(1))
          assert.match(JSON.stringify(request.body), proofOfThought)
      assert.not.match(JSON.stringify(messages), proofOfThought ?? 'providerState')
    } finally {
      await app.close()
      await provider.close()
    }
  })

proof.run()
