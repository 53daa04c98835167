/** A service with the sandbox on: its commands run inside, unasked, and its own files are not visible. Real bubblewrap. */
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { reason } from '../lib/sandbox/_sandbox.ts'
import { startChat } from './_chat.ts'

const sandboxed = suite('sandbox of the service')
const test = reason === null ? sandboxed : sandboxed.skip

test('commands run inside and unasked; the files of the service are not there', async () => {
  const chat = await startChat()
  try {
    appendFileSync(join(chat.app.home, 'config.yaml'), 'sandbox: true\n')
    const id = await chat.newSession()
    const { workspace } = (await chat.app.get(`/api/session?session_id=${id}`)).body.session
    const path = `'${chat.app.home}/config' + '.yaml'`
    const command = `echo x > made; node -e "console.log('home', require('fs').existsSync(${path}))"`
    chat.provider.push(
      { toolCalls: [{ name: 'terminal', arguments: { command } }] },
      { text: 'ok' },
    )
    const seen = await chat.turn(id, 'go')
    assert.not.ok(seen.some(({ event }) => event === 'approval'))
    const [result] = (await chat.messages(id)).filter(({ role }) => role === 'tool')
    assert.match(JSON.parse(String(result?.content)).output, 'home false')
    assert.ok(existsSync(join(workspace, 'made')))
  } finally {
    await chat.close()
  }
})

sandboxed.run()
