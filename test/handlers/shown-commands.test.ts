/** The card shows what runs: of a command only known secrets are masked, and no character of it is invisible. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startChat, types } from './_chat.ts'

const test = suite('displayed commands')

const KEY = 'glm-4711-AbCdEfGh-0815'

/** What was asked and what its tool card said, for one command. */
const asked = async (command: string): Promise<{ command: string; preview: string }> => {
  await using chat = await startChat({
    toolCalls: [{ id: 'c', name: 'terminal', arguments: { command } }],
  })
  writeFileSync(join(chat.app.home, '.env'), `GLM_API_KEY=${KEY}\n`)
  const id = await chat.newSession()
  const stream = await chat.send(id, 'Go.')
  const seen = await chat.follow(stream, 'approval')
  assert.is(types(seen).at(-1), 'approval', types(seen).join(' '))
  const { body } = await chat.app.get(`/api/approval/pending?session_id=${id}`)
  const inbox = (await chat.app.get('/api/inbox')).body.questions[0]
  assert.is(inbox.command, body.pending.command)
  await chat.app.get(`/api/chat/cancel?stream_id=${stream}`)
  const card = seen.find(each => each.event === 'tool')
  return { command: body.pending.command, preview: String(card?.data.preview) }
}

const DANGER = 'rm -rf build'

/** A name that is hidden elsewhere does not hide what follows it. */
const COMMANDS: [string, string][] = [
  [`X_TOKEN=abcdef;rm\${IFS}-rf\${IFS}~/work;echo\${IFS}done`, ''],
  ['API_KEY="$(rm -rf ~/work)"', ''],
  ['PASSWORD=abcdefghijklmnopqrstuvwxyz|sh', ''],
  ['Authorization: Bearer `rm -rf ~/work`', ''],
  ['curl -H "Authorization: Bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaa" x && true', ''],
  ['echo sk-abcdefghijklmnopqrstuvwxyz', ''],
  [`echo ${KEY} > x`, `echo ${KEY.slice(0, 6)}...${KEY.slice(-4)} > x`],
  ['cat results\u202etxt.user', 'cat results⟨U+202E⟩txt.user'],
  ['echo a\u200b\u2066b\u001b[2K\rc', 'echo a⟨U+200B⟩⟨U+2066⟩b⟨U+001B⟩[2K⟨U+000D⟩c'],
  ['echo a\u00a0b \u2003 \u3000c', 'echo a⟨U+00A0⟩b ⟨U+2003⟩ ⟨U+3000⟩c'],
  ['echo a\u2028b\ufeffc', 'echo a⟨U+2028⟩b⟨U+FEFF⟩c'],
  ['echo "שלום 👩‍👩‍👧"', ''],
]

for (const [command, shown] of COMMANDS)
  test(JSON.stringify(command), async () => {
    const card = await asked(`${DANGER}; ${command}`)
    assert.is(card.command, `${DANGER}; ${shown || command}`)
    // A tool card may mask what looks like a key, and never what a shell acts upon.
    const acts = (text: string) => text.replace(/[^;|&$()<>`]/g, '')
    assert.is(acts(card.preview), acts(`${DANGER}; ${command}`))
  })

test('a test approval is displayed like one of the agent, in every API', async () => {
  await using chat = await startChat()
  const { app } = chat
  const session_id = await chat.newSession()
  const command = '\u00a0rm\u202e -rf x\u200b\u3000'
  await app.post('/api/approval/inject_test', { session_id, command, pattern_key: 'a\u00a0b' })
  const shown = '⟨U+00A0⟩rm⟨U+202E⟩ -rf x⟨U+200B⟩⟨U+3000⟩'
  const { body } = await app.get(`/api/approval/pending?session_id=${session_id}`)
  assert.equal([body.pending.command, body.pending.pattern_key], [shown, 'a⟨U+00A0⟩b'])
  assert.is((await app.get('/api/inbox')).body.questions[0].command, shown)
  for await (const event of app.events(`/api/approval/stream?session_id=${session_id}`)) {
    assert.is((event.data as { pending: { command: string } }).pending.command, shown)
    break
  }
})

test.run()
