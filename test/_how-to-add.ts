/**
 * Run in a copy of the sources: which of the things that `how-to-add.test.ts` adds work there, by what a person, a program, or the
 * model sees of them. Prints them as JSON.
 */
import { emptyTranscript, FRAME_TYPES, reduceFrame } from '../public/features/chat/chat-reducer.ts'
import { settingEntries } from '../public/features/settings/settings-index.ts'
import { toTurnEvent } from '../lib/turns/to-stream-event.ts'
import { startChat } from './handlers/_chat.ts'

type Shape = Record<string, unknown>

const chat = await startChat({ toolCalls: [{ name: 'fake', arguments: {} }] }, { text: 'Done.' })
const { app, provider } = chat

const setting = async (): Promise<boolean> => {
  const { ignored } = (await app.post('/api/settings', { fake: true })).body
  const { fake } = (await app.get('/api/settings')).body
  const row = settingEntries().find(({ label }) => label === 'Fake row')
  return ignored.length === 0 && fake === true && row?.hint === 'What it does'
}

const tool = async (): Promise<boolean> => {
  const id = await chat.newSession()
  await chat.turn(id, 'Use it')
  const isOffered = JSON.stringify(provider.requests[0]?.body).includes('"name":"fake"')
  const messages = await chat.messages(id)
  const result = messages.find(({ role }) => role === 'tool')
  const { toolsets } = (await app.get('/api/tools')).body
  return (
    isOffered &&
    String(result?.content).includes('It worked') &&
    toolsets.some(({ tools }: { tools: Shape[] }) => JSON.stringify(tools).includes('"fake"'))
  )
}

const providers = async (): Promise<boolean> => {
  const { body } = await app.get('/api/providers')
  return body.providers.some(({ id }: Shape) => id === 'fake')
}

const endpoint = async (): Promise<boolean> => (await app.get('/api/fake')).body.fake === true

/** What the engine says reaches the transcript of the page. */
const event = (): boolean => {
  const said: Shape = { type: 'fake', text: 'Fake title' }
  const on = toTurnEvent(said as Parameters<typeof toTurnEvent>[0], text => text, 0)
  if (on === undefined || !FRAME_TYPES.includes(on.type)) return false
  const frame = { source: 'session:s' as const, n: 1, ...on }
  return reduceFrame(emptyTranscript('s'), frame, 0).title === 'Fake title'
}

const works: Shape = {}
for (const [kind, isWorking] of Object.entries({
  setting,
  tool,
  provider: providers,
  endpoint,
  event,
}))
  try {
    works[kind] = await isWorking()
  } catch (error) {
    // A file is missing: this is what the test expects of some.
    works[kind] = false
    console.error(error)
  }
// The service says more on standard output.
console.log(`works ${JSON.stringify(works)}`)
await chat.close()
