/** The card shows what runs: of a command only known secrets are masked, and no character of it is invisible. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startChat, types } from './_chat.ts'

const test = suite('commands are shown as they run')

const KEY = 'glm-4711-AbCdEfGh-0815'

/** What was asked and what its tool card said, for one command. */
const asked = async (command: string): Promise<{ command: string; preview: string }> => {
  const chat = await startChat({
    toolCalls: [{ id: 'c', name: 'terminal', arguments: { command } }],
  })
  try {
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
  } finally {
    await chat.close()
  }
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

test.run()
