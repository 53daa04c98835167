/** Commands in the sandbox ask about hosts while they wait: answered in the page, remembered by scope. Real bubblewrap. */
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { reason } from '../lib/commands/sandbox/_sandbox.ts'
import { until } from '../_wait.ts'
import { startChat } from './_chat.ts'

const questions = suite('questions about hosts')
const test = reason === null ? questions : questions.skip

/** No name ends so: what was allowed is not found, and nothing leaves this computer. */
const HOST = 'registry.invalid'
const FOUND = `${HOST} was not found.`

const FETCH = `
import { request } from 'node:http'
const { hostname: host, port } = new URL(process.env.HTTP_PROXY)
const get = name =>
  new Promise(resolve => {
    const headers = { host: name }
    request({ host, port, path: 'http://' + name, headers }, async answer => {
      let text = ''
      for await (const chunk of answer) text += chunk
      resolve(text)
    }).end()
  })
const texts = await Promise.all(process.argv.slice(2).map(get))
console.log(texts.join(''))
`

type Choice = 'once' | 'session' | 'always' | 'deny'

const begin = async (config = 'sandbox: true\n') => {
  const chat = await startChat()
  const { app, provider } = chat
  appendFileSync(join(app.home, 'config.yaml'), config)
  const newSession = async () => {
    const id = await chat.newSession()
    const { workspace } = (await app.get(`/api/session?session_id=${id}`)).body.session
    writeFileSync(join(workspace, 'fetch.mjs'), FETCH)
    return id
  }
  /** Runs the command; `answer` is given to each question. */
  const run = async (id: string, args: Record<string, unknown>, answer: Choice | null = null) => {
    provider.push({ toolCalls: [{ name: 'terminal', arguments: args }] }, { text: 'ok' })
    const asked: Record<string, unknown>[] = []
    const stream = await chat.send(id, 'go')
    for await (const { event, data } of app.events(
      `/api/chat/stream?stream_id=${stream}&after=0`,
    )) {
      if (event === 'approval') {
        asked.push(data as Record<string, unknown>)
        const { approval_id } = data as Record<string, string>
        if (answer)
          await app.post('/api/approval/respond', { session_id: id, approval_id, choice: answer })
      }
      if (event === 'stream_end') break
    }
    const result = (await chat.messages(id)).findLast(({ role }) => role === 'tool')
    return { asked, result: JSON.parse(String(result?.content)) }
  }
  const ask = (id: string, answer: Choice | null = null, ...hosts: string[]) =>
    run(id, { command: `node fetch.mjs ${(hosts.length > 0 ? hosts : [HOST]).join(' ')}` }, answer)
  return { chat, newSession, run, ask }
}

test('the command waits, goes on, and gets what was answered; each scope is remembered', async () => {
  const { chat, newSession, ask } = await begin()
  try {
    const id = await newSession()
    const first = await ask(id, 'once', HOST, `${HOST}:443`)
    assert.is(first.result.output.match(RegExp(FOUND, 'g')).length, 2)
    const [card] = first.asked
    assert.is(first.asked.length, 1)
    assert.equal(card?.network, { host: HOST, port: 80 })
    assert.equal(card?.pattern_keys, [`network: ${HOST}`])
    assert.match(String(card?.description), `wants to reach ${HOST}.`)
    assert.is(card?.runs_in, 'sandbox')

    const denied = await ask(id, 'deny')
    assert.match(denied.result.output, `The user denied access to ${HOST}.`)
    assert.is(denied.result.network, `Not allowed: ${HOST}.`)

    assert.is((await ask(id, 'session')).asked.length, 1)
    assert.is((await ask(id)).asked.length, 0)
    // The chat that allowed it, and no other.
    const other = await newSession()
    assert.is((await ask(other, 'always')).asked.length, 1)
    const third = await newSession()
    const allowed = await ask(third)
    assert.equal([allowed.asked.length, allowed.result.output.trim()], [0, FOUND])
    const { grants } = (await chat.app.get('/api/approval/grants')).body
    assert.equal([grants[0].command, grants[0].scope], [`network: ${HOST}`, 'workspace'])
    assert.is((await ask(third, 'deny', 'other.invalid')).asked.length, 1)
  } finally {
    await chat.close()
  }
})

test('a list, approvals that are off, and a chat with auto-approval ask nothing', async () => {
  const { chat, newSession, ask } = await begin(
    `sandbox:\n  enabled: true\n  network: ['*.invalid']\n`,
  )
  try {
    const id = await newSession()
    assert.equal((await ask(id)).result.output.trim(), FOUND)
    writeFileSync(join(chat.app.home, 'config.yaml'), 'sandbox: true\napprovals:\n  mode: off\n')
    const off = await ask(id)
    assert.equal([off.asked.length, off.result.output.trim()], [0, FOUND])
  } finally {
    await chat.close()
  }
})

test('entries that are no host refuse every command and name themselves', async () => {
  const { chat, newSession, run } = await begin(
    `sandbox:\n  enabled: true\n  network: ['npm install *', 'a.example']\n`,
  )
  try {
    const { result } = await run(await newSession(), { command: 'true' })
    assert.is(result.status, 'blocked')
    assert.match(JSON.stringify(result), 'npm install *')
  } finally {
    await chat.close()
  }
})

test('this computer is not asked about', async () => {
  const { chat, newSession, ask } = await begin()
  try {
    const port = new URL(chat.app.url).port
    // Not `localhost`, which programs connect to directly.
    const { asked, result } = await ask(
      await newSession(),
      null,
      `0x7f000001:${port}`,
      `127.1.1.1:${port}`,
    )
    assert.equal(asked, [])
    assert.is(result.output.match(/is this computer/g).length, 2)
  } finally {
    await chat.close()
  }
})

test('a stop ends the command and withdraws its question', async () => {
  const { chat, newSession } = await begin()
  const { app, provider } = chat
  try {
    const id = await newSession()
    provider.push({
      toolCalls: [{ name: 'terminal', arguments: { command: `node fetch.mjs ${HOST}` } }],
    })
    const stream = await chat.send(id, 'go')
    const open = async () =>
      (await app.get(`/api/approval/pending?session_id=${id}`)).body.pending_count
    await until(async () => (await open()) === 1)
    await app.get(`/api/chat/cancel?stream_id=${stream}`)
    await until(async () => (await open()) === 0)
  } finally {
    await chat.close()
  }
})

test('a background process asks during its turn, and not after it', async () => {
  const { chat, newSession, run } = await begin()
  try {
    const id = await newSession()
    const late = `while [ ! -e go ]; do sleep 0.05; done; node fetch.mjs ${HOST}`
    const started = await run(id, { command: late, background: true })
    const { workspace } = (await chat.app.get(`/api/session?session_id=${id}`)).body.session
    writeFileSync(join(workspace, 'go'), '')
    chat.provider.push(
      {
        toolCalls: [
          {
            name: 'process',
            arguments: { action: 'wait', session_id: started.result.session_id, timeout: 20 },
          },
        ],
      },
      { text: 'ok' },
    )
    const seen = await chat.turn(id, 'go')
    assert.not.ok(seen.some(({ event }) => event === 'approval'))
    const result = (await chat.messages(id)).findLast(({ role }) => role === 'tool')
    assert.match(String(result?.content), 'was not allowed before')
  } finally {
    await chat.close()
  }
})

questions.run()
