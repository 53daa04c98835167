/** A language server with one fault at a time. `node _server.mjs FAULT`: each line with "bad" is an error, with "poor" a warning. */
import { appendFileSync, closeSync } from 'node:fs'

const [fault, record] = process.argv.slice(2)
const note = text => record && appendFileSync(record, `${text}\n`)
note(`pid ${process.pid}`)
const send = message => {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message })
  process.stdout.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}
const documents = new Map()
const find = text =>
  text.split('\n').flatMap((line, at) =>
    ['bad', 'poor', 'hint'].flatMap((word, index) =>
      line.includes(word)
        ? [
            {
              range: { start: { line: at, character: line.indexOf(word) }, end: {} },
              severity: [1, 2, 4][index],
              message: `${word} word`,
              code: word === 'bad' ? 1 : undefined,
              source: 'fake',
            },
          ]
        : [],
    ),
  )
const isPush = ['push', 'versions', 'unversioned'].includes(fault)
const publish = uri => {
  const { text, version } = documents.get(uri)
  if (fault === 'versions') {
    const wrong = [{ ...find('bad')[0], message: 'of another text' }]
    for (const other of [version - 1, version + 7])
      send({
        method: 'textDocument/publishDiagnostics',
        params: { uri, version: other, diagnostics: wrong },
      })
  }
  send({
    method: 'textDocument/publishDiagnostics',
    params: { uri, ...(fault !== 'unversioned' && { version }), diagnostics: find(text) },
  })
}

const asked = new Set()
const answers = {
  initialize: ({ initializationOptions }) => {
    note(`options ${JSON.stringify(initializationOptions)}`)
    return { capabilities: isPush ? {} : { diagnosticProvider: {} } }
  },
  'textDocument/diagnostic': ({ textDocument: { uri } }) => {
    if (fault === 'deaf') {
      setInterval(() => undefined, 60_000)
      closeSync(0)
    }
    return { kind: 'full', items: find(documents.get(uri).text) }
  },
}
const notices = {
  initialized() {
    if (fault !== 'asks') return
    for (const [id, [method, params]] of [
      ['workspace/configuration', { items: [{ section: 'fake.deep' }, { section: 'other' }] }],
      ['client/registerCapability', { registrations: [] }],
      ['workspace/applyEdit', { edit: {} }],
      ['no/such', {}],
    ].entries()) {
      asked.add(id)
      send({ id, method, params })
    }
  },
  'textDocument/didOpen'({ textDocument: { uri, text, version } }) {
    note(`open ${uri.split('/').at(-1)}`)
    documents.set(uri, { text, version })
    if (isPush) publish(uri)
  },
  'textDocument/didChange'({ textDocument: { uri, version }, contentChanges: [{ text }] }) {
    documents.set(uri, { text, version })
    if (fault === 'crash') {
      console.error('out of luck')
      process.exit(3)
    }
    if (isPush) publish(uri)
  },
  'textDocument/didClose'({ textDocument: { uri } }) {
    documents.delete(uri)
  },
  'workspace/didChangeWatchedFiles'({ changes }) {
    note(changes.map(({ uri, type }) => `event ${type} ${uri.split('/').at(-1)}`).join('\n'))
  },
}

const receive = ({ id, method, params, result, error }) => {
  if (method === undefined) return note(`answer ${id} ${JSON.stringify(error?.code ?? result)}`)
  if (id === undefined) return notices[method]?.(params)
  if (fault === 'silent' || (fault === 'stuck' && method !== 'initialize')) return
  send({ id, result: answers[method]?.(params) ?? null })
}

let pending = Buffer.alloc(0)
process.stdin.on('data', chunk => {
  pending = Buffer.concat([pending, chunk])
  for (;;) {
    const end = pending.indexOf('\r\n\r\n')
    if (end < 0) return
    const length = Number(/Content-Length: (\d+)/i.exec(pending.subarray(0, end).toString())?.[1])
    if (pending.length < end + 4 + length) return
    const body = pending.subarray(end + 4, end + 4 + length)
    pending = pending.subarray(end + 4 + length)
    receive(JSON.parse(body.toString()))
  }
})
process.stdin.on('end', () => process.exit(0))
if (fault === 'exit') process.exit(1)
if (fault === 'garbage') process.stdout.write('Usage: fake\n\nContent-Length: no\r\n\r\n')
if (fault === 'flood') {
  const lots = `Content-Length: 1000000000\r\n\r\n${'x'.repeat(1_000_000)}`
  const flood = () => process.stdout.write(lots, flood)
  flood()
}
