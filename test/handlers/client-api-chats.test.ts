/** Which chat a request of a program belongs to where requests compete, fail, or go back, and answers that are cut off. */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type OpenAI from 'openai'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { png } from '../_images.ts'
import type { Step } from '../_provider.ts'
import { type Api, all, withApi } from './_client-api.ts'

const chats = suite('client API: which chat')

type Messages = OpenAI.ChatCompletionMessageParam[]

const user = (content: string) => ({ role: 'user' as const, content })
const assistant = (content: string) => ({ role: 'assistant' as const, content })

const send = ({ openai }: Api, messages: Messages, name?: string) =>
  openai().chat.completions.create(
    { model: 'agent', messages },
    name === undefined ? {} : { headers: { 'x-hermes-session-id': name } },
  )

/** The chat that answered. */
const chatOf = async (service: Api, messages: Messages): Promise<string | null> => {
  const { response } = await send(service, messages).withResponse()
  return response.headers.get('x-hermes-session-id')
}

const statusOf = (work: Promise<unknown>): Promise<number> =>
  work.then(
    () => 200,
    error => error.status,
  )

const rowsOf = async ({ sessions }: Api) =>
  (await sessions()).filter(({ source_tag }) => source_tag === 'api')

const textsOf = async (service: Api, id: unknown) =>
  (await service.messages(String(id))).map(({ content }) => content)

chats(
  'a new name belongs to one chat from its first request on: a second one at the same time is a conflict (409), and a failed one is continued',
  withApi(async service => {
    service.push({ text: 'A' })
    const both = await Promise.all([
      statusOf(send(service, [user('One')], 'new')),
      statusOf(send(service, [user('Two')], 'new')),
    ])
    assert.equal(both.sort(), [200, 409])
    assert.is((await rowsOf(service)).length, 1)
    service.push({ status: 401, body: { error: { message: 'bad key' } } }, { text: 'B' })
    assert.is(await statusOf(send(service, [user('First')], 'failing')), 400)
    assert.is(await statusOf(send(service, [user('Second')], 'failing')), 200)
    assert.is((await rowsOf(service)).length, 2)
    assert.match(JSON.stringify(service.asked().at(-1).messages), 'First')
  }),
)

chats(
  'an earlier question again is a branch when the chat went on after its answer',
  withApi(
    async service => {
      const first = [user('One'), assistant('A')]
      await send(service, [user('One')])
      await send(service, [...first, user('Two')])
      const whole = await chatOf(service, [...first, user('Two'), assistant('B'), user('Three')])
      const branch = await chatOf(service, [...first, user('Two')])
      assert.is.not(branch, whole)
      assert.equal(await textsOf(service, whole), ['One', 'A', 'Two', 'B', 'Three', 'C'])
      assert.equal(await textsOf(service, branch), ['One', 'A', 'Two', 'D'])
    },
    ...['A', 'B', 'C', 'D'].map(text => ({ text })),
  ),
)

chats(
  'responses that were stored stay: the same input after a response a second time is a branch',
  withApi(
    async ({ openai, ...service }) => {
      const { responses } = openai()
      const ask = (input: string, previous?: OpenAI.Responses.Response) =>
        responses.create({ model: 'agent', input, previous_response_id: previous?.id ?? null })
      const first = await ask('One')
      const second = await ask('Two', first)
      assert.is((await ask('Two', first)).output_text, 'C')
      assert.is((await ask('Three', second)).output_text, 'D')
      assert.match(JSON.stringify(service.asked().at(-1).messages), '"B"')
    },
    ...['A', 'B', 'C', 'D'].map(text => ({ text })),
  ),
)

chats(
  'equal words about different images are different chats',
  withApi(
    async service => {
      const ask = (size: number): Messages[number] => ({
        role: 'user',
        content: [
          { type: 'text', text: 'Is it red?' },
          {
            type: 'image_url',
            image_url: { url: `data:image/png;base64,${png(size, size).toString('base64')}` },
          },
        ],
      })
      const one = await chatOf(service, [ask(8)])
      const two = await chatOf(service, [ask(9)])
      assert.is(await chatOf(service, [ask(8), assistant('Yes.'), user('Why?')]), one)
      assert.is(await chatOf(service, [ask(9), assistant('Yes.'), user('Why?')]), two)
    },
    ...['Yes.', 'Yes.', 'So.', 'So.'].map(text => ({ text })),
  ),
)

chats(
  'a request whose workspace is gone leaves no chat',
  withApi(async service => {
    const { workspace } = (await service.app.post('/api/session/new', {})).body.session
    const place = join(workspace, 'gone')
    mkdirSync(place)
    const { secret } = await service.makeToken({ workspace: place })
    rmSync(place, { recursive: true })
    const answer = await service.app.post(
      '/v1/chat/completions',
      { model: 'agent', messages: [user('Earlier'), assistant('Yes.'), user('Go on')] },
      { headers: { authorization: `Bearer ${secret}` } },
    )
    assert.is(answer.status, 400, answer.text)
    assert.equal(await rowsOf(service), [])
  }),
)

/** The response in the last event of a stream. */
const incompleteOf = async (
  stream: AsyncIterable<OpenAI.Responses.ResponseStreamEvent>,
): Promise<OpenAI.Responses.Response> => {
  const last = (await all(stream)).at(-1)
  if (last?.type !== 'response.incomplete') throw new Error(`The last event is ${last?.type}.`)
  return last.response
}

const CUT: Step[] = Array.from({ length: 4 }, () => ({ text: 'half', finish: 'length' }))

chats(
  'an answer that was cut off at the length limit says so in each format',
  withApi(async ({ openai, anthropic, push }) => {
    const given = { model: 'agent', messages: [user('Long')] }
    for (const stream of [false, true]) {
      push(...CUT)
      const chat = await openai().chat.completions.create({ ...given, stream })
      const finish =
        'choices' in chat
          ? chat.choices[0]?.finish_reason
          : (await all(chat)).at(-1)?.choices[0]?.finish_reason
      assert.is(finish, 'length')
      push(...CUT)
      const message = { ...given, max_tokens: 9 }
      const theirs = stream
        ? await anthropic().messages.stream(message).finalMessage()
        : await anthropic().messages.create(message)
      assert.is(theirs.stop_reason, 'max_tokens')
      push(...CUT)
      const asked = await openai().responses.create({ model: 'agent', input: 'Long', stream })
      const response = 'output' in asked ? asked : await incompleteOf(asked)
      assert.is(response.status, 'incomplete')
      assert.is(response.incomplete_details?.reason, 'max_output_tokens')
      assert.match(JSON.stringify(response.output), '"halfhalfhalfhalf"')
    }
  }),
)

chats.run()
