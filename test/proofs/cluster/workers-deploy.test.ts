/**
 * A rolling deploy of workers while a turn runs in each of several cells: one worker after the other is stopped and started
 * again, at once, so that some cells are stopped while they start elsewhere. No turn ends, and nothing runs twice.
 * `PROOF=full` has six cells and six deploys.
 */
import * as assert from 'uvu/assert'
import type { Recorded, Step } from '../../_provider.ts'
import { until } from '../../_wait.ts'
import {
  add,
  as,
  db,
  provider,
  rowOf,
  startForwarder,
  startWorker,
  useModel,
  workersSuite,
} from './_workers.ts'

const proof = workersSuite('workers: deploy')
const isFull = process.env.PROOF === 'full'
const cells = isFull ? ['a1', 'b2', 'c3', 'd4', 'e5', 'f6'] : ['a1', 'd4']
const deploys = isFull ? 6 : 2

const assistants = (body: Recorded['body']): number =>
  body.messages.filter(({ role }: { role: string }) => role === 'assistant').length

proof(`${deploys} deploys under turns of ${cells.length} cells end none`, async () => {
  // The model answers step n only after deploy n: half of the turns wait for it, half are in the middle of its answer.
  const deployed = Array.from({ length: deploys }, () => Promise.withResolvers<void>())
  provider.otherwise = (body): Step => {
    const step = assistants(body)
    const gate = deployed[step]?.promise
    if (gate === undefined || !body.tools?.length) return { text: 'The end.' }
    const call = { id: `c${step}`, name: 'terminal', arguments: { command: `echo ${step}` } }
    const isEarly = /chat [abc]/.test(JSON.stringify(body.messages))
    return {
      text: ['step ', 'begins'],
      toolCalls: [call],
      ...(isEarly ? { gate } : { middle: gate }),
    }
  }
  const forwarder = await startForwarder()
  const workers = [await startWorker('one'), await startWorker('two')]
  const chats = []
  for (const cell of cells) {
    await add(cell)
    const client = as(cell, forwarder)
    assert.is((await client.get('/api/sessions')).status, 200)
    useModel(workers[(await rowOf(cell)).worker === 'one' ? 0 : 1]!, cell)
    await until(async () => {
      const sql = "select 1 from agent_webui.file where cell = $1 and path = 'home/config.yaml'"
      return (await db.query(sql, [cell])).length > 0
    }, 'the copy of config.yaml')
    const { body } = await client.post('/api/session/new', {})
    const id: string = body.session.session_id
    const started = await client.post('/api/chat/start', {
      session_id: id,
      message: `chat ${cell}`,
    })
    assert.is(started.status, 200)
    chats.push({ client, id })
  }
  for (const [n, { resolve }] of deployed.entries()) {
    const old = workers[n % 2]!
    old.program.child.kill('SIGTERM')
    resolve()
    assert.is(await old.program.exited, 0)
    workers[n % 2] = await startWorker(n % 2 === 0 ? 'one' : 'two', {}, old.dir)
  }
  for (const { client, id } of chats) {
    const session = async () => (await client.get(`/api/session?session_id=${id}`)).body.session
    await until(async () => (await session()).is_streaming === false, 'the end of the turn')
    const { messages } = await session()
    assert.equal(
      messages.map(({ role }: { role: string }) => role),
      ['user', ...deployed.flatMap(() => ['assistant', 'tool']), 'assistant'],
    )
    assert.is(messages.at(-1).content, 'The end.')
  }
})

proof.run()
