/** An MCP server that behaves as badly as its argument says; run as a program of its own by the tests beside it. */
import { appendFileSync, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'

type Message = { id?: number; method?: string; params?: Record<string, unknown> }

const manner = process.argv[2] ?? 'well'
/** Each start leaves a line here. */
const trace = process.argv[3]
if (trace) appendFileSync(trace, `${process.pid}\n`)

const send = (message: unknown) => process.stdout.write(`${JSON.stringify(message)}\n`)
const answer = (id: number | undefined, result: unknown) => send({ jsonrpc: '2.0', id, result })
const text = (words: string) => ({ content: [{ type: 'text', text: words }] })

const object = { type: 'object', properties: {} }
const tool = (name: string, more: object = {}) => ({ name, inputSchema: object, ...more })

const state = { extra: false, calls: 0 }

const ACTIONS = [
  'list',
  'get',
  'create',
  'update',
  'delete',
  'search',
  'archive',
  'assign',
  'export',
  'watch',
]
const THINGS = [
  'issue',
  'pull_request',
  'branch',
  'release',
  'milestone',
  'workflow',
  'comment',
  'label',
  'team',
  'package',
  'secret',
  'deployment',
  'discussion',
]

/** As many tools as `wide:<count>` says, with descriptions and parameters like those of real servers. */
const wideTools = (count: number) =>
  THINGS.flatMap(thing =>
    ACTIONS.map(action => {
      const text = (description: string) => ({ type: 'string', title: 'Text', description })
      const properties = {
        owner: text('Account that owns the repository. Not case-sensitive.'),
        repo: text('Name of the repository without the .git extension.'),
        [`${thing}_id`]: text(`Identifier of the ${thing}, as list_${thing} returns it.`),
        per_page: { type: 'integer', minimum: 1, maximum: 100, default: 30, title: 'Per Page' },
        note: { anyOf: [{ type: 'string' }, { type: 'null' }], default: null, title: 'Note' },
      }
      return tool(`${action}_${thing}`, {
        description: `Use this to ${action} a ${thing.replace('_', ' ')} of a repository. Returns the result as JSON with its id, state, author and dates.`,
        inputSchema: {
          $schema: 'http://json-schema.org/draft-07/schema#',
          type: 'object',
          additionalProperties: false,
          properties,
          required: ['owner', 'repo'],
        },
        ...(action === 'delete' && { annotations: { destructiveHint: true } }),
      })
    }),
  ).slice(0, count)

const toolsNow = () => {
  if (manner.startsWith('wide:')) return wideTools(Number(manner.slice(5)))
  if (manner === 'wrong')
    return [tool('good'), { name: 7 }, { description: 'nameless' }, tool('good'), 'words', null]
  if (manner === 'many') return Array.from({ length: 300 }, (_, n) => tool(`tool-${n}`))
  return [
    tool('echo', { description: 'Says it again', annotations: { readOnlyHint: true } }),
    tool('die'),
    tool('hang'),
    tool('flood'),
    tool('grow'),
    tool('fail'),
    tool('env'),
    tool('ask'),
    tool('odd'),
    tool('erase', { annotations: { destructiveHint: true } }),
    ...(state.extra ? [tool('grown')] : []),
  ]
}

const questions = new Map<number, number | undefined>()

const call = (id: number | undefined, name: unknown, args: unknown) => {
  switch (name) {
    case 'die':
      process.stderr.write('cannot go on\n')
      return process.exit(3)
    case 'hang':
      if (trace) appendFileSync(trace, 'hanging\n')
      return undefined
    case 'flood':
      return answer(id, text('x'.repeat(3_000_000)))
    case 'line':
      return process.stdout.write('y'.repeat(20_000_000))
    case 'fail':
      return answer(id, { ...text('it did not work'), isError: true })
    case 'odd':
      return answer(id, { content: [{ type: 'hologram', depth: 3 }] })
    case 'env':
      return answer(id, text(JSON.stringify(process.env)))
    case 'grow':
      state.extra = true
      send({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
      return answer(id, text('grown'))
    case 'ask': {
      const properties = { color: { type: 'string', enum: ['red', 'blue'] } }
      const requestedSchema = { type: 'object', properties, required: ['color'] }
      const asked = 1_000 + questions.size
      questions.set(asked, id)
      return send({
        jsonrpc: '2.0',
        id: asked,
        method: 'elicitation/create',
        params: { message: 'Which one?', requestedSchema },
      })
    }
    default:
      return answer(id, text(JSON.stringify(args ?? {})))
  }
}

const receive = (message: Message & { result?: unknown }) => {
  const { id, method, params } = message
  if (method === undefined && id !== undefined && questions.has(id)) {
    answer(questions.get(id), text(`answered ${JSON.stringify(message.result)}`))
    return
  }
  switch (method) {
    case 'initialize':
      if (manner === 'silent') return
      answer(id, {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'odd one', version: '0.1' },
      })
      break
    case 'tools/list':
      if (manner === 'no-list') {
        send({ jsonrpc: '2.0', id, error: { code: -32603, message: 'the list is lost' } })
        return
      }
      answer(id, { tools: toolsNow() })
      break
    case 'tools/call':
      call(id, params?.name, params?.arguments)
      break
    case 'ping':
      if (manner !== 'stuck') answer(id, {})
      break
    case 'notifications/cancelled':
      if (trace) appendFileSync(trace, 'cancelled\n')
      break
    default:
      break
  }
}

// `gate`: works while a file of this name exists.
if (manner === 'gate' && !existsSync(process.argv[4] ?? '')) {
  process.stderr.write('the gate is closed\n')
  process.exit(2)
}
if (manner === 'exit') {
  process.stderr.write('no license found\n')
  process.exit(2)
}
if (manner === 'garbage') {
  process.stdout.write('Listening with great pleasure…\n{"half": \n[]\n42\n{"jsonrpc":"2.0"}\n')
  process.stderr.write('token is sesame-open-please\n')
}
if (manner === 'deaf') {
  process.on('SIGTERM', () => undefined)
  setInterval(() => undefined, 1_000)
}

createInterface({ input: process.stdin }).on('line', line => receive(JSON.parse(line)))
