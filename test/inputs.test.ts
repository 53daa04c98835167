/** Every field of every endpoint: null is the same as absent, and no JSON value is more than a refusal. */
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { parseInput } from '../lib/http/parse-input.ts'
import { routes, patternRoutes } from '../router.ts'
import type { AnyEndpoint } from '../lib/http/endpoint.ts'
import { startApp, type TestApp, tokenHeaders } from './_app.ts'
import { createRandom, oddTexts, type Random, randomJson } from './_random.ts'

type Field = { name: string; schema: z.core.$ZodType }

const unwrap = (schema: z.core.$ZodType): z.core.$ZodType => {
  const { def } = schema._zod as { def: { innerType?: z.core.$ZodType; in?: z.core.$ZodType } }
  const next = def.innerType ?? def.in
  return next ? unwrap(next) : schema
}

const isNullable = (schema: z.core.$ZodType): boolean => {
  if (schema instanceof z.ZodNullable) return true
  const { def } = schema._zod as { def: { innerType?: z.core.$ZodType; in?: z.core.$ZodType } }
  const next = def.innerType ?? def.in
  return next !== undefined && isNullable(next)
}

/** With those of objects inside objects, lists and unions. */
const fieldsOf = (schema: z.core.$ZodType, at: string): Field[] => {
  const bare = unwrap(schema)
  if (bare instanceof z.ZodArray) return fieldsOf(bare.element, at)
  if (bare instanceof z.ZodUnion) return bare.options.flatMap(option => fieldsOf(option, at))
  if (!(bare instanceof z.ZodObject)) return []
  return Object.entries(bare.shape as Record<string, z.core.$ZodType>).flatMap(([key, field]) => [
    { name: `${at} ${key}`, schema: field },
    ...fieldsOf(field, `${at} ${key}`),
  ])
}

const table = { ...routes, ...patternRoutes }
const inputs = Object.entries(table).flatMap(([key, { input }]) => (input ? [{ key, input }] : []))

/** Where null says something that absence does not. */
const NULL_SAYS = [
  'POST /api/budgets day tokens',
  'POST /api/budgets day usd',
  'POST /api/budgets session tokens',
  'POST /api/budgets session usd',
  'POST /api/budgets steps',
  'POST /api/budgets turn tokens',
  'POST /api/budgets turn usd',
  'POST /api/memory/write expected_mtime',
  'POST /api/notifications kinds',
  'POST /api/notifications/kinds kinds',
  'POST /api/own-files/save fields tools',
  'POST /api/personality/set name',
  'POST /api/projects/create color',
  'POST /api/projects/rename color',
  'POST /api/providers api_key',
  'POST /api/session/move project_id',
  'POST /api/session/toolsets toolsets',
  'POST /api/skills/save category',
  'POST /api/tokens/create expires_in_days',
]

const nulls = suite('inputs: null')

nulls('only the fields where null has a meaning accept it', () => {
  const named = inputs.flatMap(({ key, input }) =>
    fieldsOf(input, key)
      .filter(({ schema }) => isNullable(schema))
      .map(({ name }) => name),
  )
  assert.equal([...new Set(named)].toSorted(), NULL_SAYS)
})

const outcome = (schema: z.ZodType, value: Record<string, unknown>): unknown => {
  try {
    return { ok: parseInput(schema, value) }
  } catch (error) {
    return { refused: String(error) }
  }
}

nulls('every other field treats null as absent', () => {
  let tried = 0
  for (const { key, input } of inputs) {
    for (const { name, schema } of fieldsOf(input, key)) {
      if (NULL_SAYS.includes(name)) continue
      const field = name.split(' ').at(-1)!
      const alone = z.object({ [field]: schema as z.ZodType })
      const nested = z.object({ list: z.array(alone), maybe: alone.optional() })
      assert.equal(outcome(alone, { [field]: null }), outcome(alone, {}), name)
      assert.equal(
        outcome(nested, { list: [{ [field]: null }], maybe: { [field]: null } }),
        outcome(nested, { list: [{}], maybe: {} }),
        name,
      )
      tried += 1
    }
  }
  assert.ok(tried > 250, `only ${tried} fields were tried`)
})

nulls('values beside a null are kept, also unknown fields and their nulls', () => {
  const schema = z.looseObject({ a: z.string().optional(), b: z.array(z.unknown()).optional() })
  assert.equal(parseInput(schema, { a: null, b: [null, { c: null }], d: null }), {
    b: [null, { c: null }],
    d: null,
  })
})

nulls('rejects a value without a length', () => {
  const schema = z.object({ name: z.string().min(1).max(9), all: z.array(z.string()).max(3) })
  const given = { name: { length: { toString: 1 } }, all: { length: [{ toString: 1 }] } }
  assert.match(JSON.stringify(outcome(schema, given)), /not valid/)
})

nulls.run()

// ── Random values ───────────────────────────────────────────────────────────────────────────────────────────────────

const SEED = Number(process.env.SEED ?? 20_260)
const FULL = process.env.PROOF === 'full'

type State = { app: TestApp; known: Record<string, unknown>; outside: () => string[] }
const wild = suite<State>('inputs: random values')

const boot = async (state: State) => {
  const app = await startApp({ allowErrors: true })
  state.app = app
  const workspace = join(app.userHome, 'workspace')
  mkdirSync(workspace)
  const { session } = (await app.post('/api/session/new', { workspace })).body
  state.known = {
    session_id: session.session_id,
    workspace,
    path: 'inside.txt',
    message: 'hello',
    name: 'thing',
    content: 'text',
  }
  state.outside = () => [
    ...readdirSync(app.userHome).filter(name => !['.agent', 'workspace'].includes(name)),
    ...['/tmp/outside.txt', join(app.userHome, '..', 'outside.txt')].filter(existsSync),
  ]
}
wild.before(boot)
wild.after(({ app }) => app.close())

/** Random where a coin says so, otherwise something the endpoint could know: later checks are reached as well. */
const bodyOf = (random: Random, keys: readonly string[], known: Record<string, unknown>) =>
  Object.fromEntries(
    keys.flatMap(key => {
      const share = key in known ? 0.3 : 0.7
      if (random.next() < share) return [[key, randomJson(random)]]
      return key in known ? [[key, known[key]]] : []
    }),
  )

for (const [key, { input, raw, byToken }] of Object.entries<AnyEndpoint>(table)) {
  if (!input) continue
  const [method = '', path = ''] = key.split(' ')
  wild(`${key} responds to any input`, async state => {
    const random = createRandom(SEED + key.length * 7919 + key.charCodeAt(key.length - 1))
    const shape = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' })
    const keys = Object.keys((shape as { properties?: object }).properties ?? {})
    const concrete = path.replace(/\/:\w+$/, '/thing')
    const headers = byToken ? await tokenHeaders(state.app) : {}
    for (let at = 0; at < (FULL ? 200 : 16); at += 1) {
      const { known } = state
      const values =
        at % 8 === 7 ? { body: randomJson(random) } : { body: bodyOf(random, keys, known) }
      const query = Object.fromEntries(
        keys.flatMap(name =>
          random.next() < 0.4
            ? [[name, random.pick(oddTexts).slice(0, 3_000).toWellFormed()]]
            : name in known
              ? [[name, String(known[name])]]
              : [],
        ),
      )
      const isQuery = method === 'GET'
      const answer = await state.app.request(
        method,
        isQuery ? `${concrete}?${new URLSearchParams(query)}` : concrete,
        // Text as a body would be sent as it is.
        {
          ...(isQuery ? {} : { body: JSON.stringify(values.body) }),
          headers,
          headOnly: true,
          timeoutMs: 10_000,
        },
      )
      const what = `seed ${SEED}, try ${at}: ${key} ${JSON.stringify(isQuery ? query : values.body).slice(0, 500)} → ${answer.status} ${answer.text.slice(0, 200)}`
      assert.ok(answer.status < 500 || answer.status === 503, `${what}\n${state.app.errors.at(-1)}`)
      if (answer.status >= 400 && raw === undefined)
        assert.type(byToken ? answer.body?.error?.message : answer.body?.error, 'string', what)
      assert.equal(state.outside(), [], what)
      assert.is(Reflect.get({}, 'polluted'), undefined)
    }
    const { auth_enabled } = (await state.app.get('/api/auth/status')).body
    const lives = await state.app.get(`/api/session?session_id=${state.known.session_id}`)
    if (auth_enabled || lives.status !== 200) {
      await state.app.close()
      await boot(state)
    }
  })
}

wild('the service still works and has logged no error', async ({ app }) => {
  assert.is((await app.post('/api/session/new')).status, 200)
  assert.equal(app.errors, [])
})

wild.run()
