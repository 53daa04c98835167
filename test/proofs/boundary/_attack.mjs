/** What a program of the agent could try against the service that runs it. Writes one line per request to a file. */
import { appendFileSync } from 'node:fs'
import { request } from 'node:http'

const { label, bases, requests, out, cookie, isOrphan } = JSON.parse(process.argv[2])

const send = (base, [method, path, body]) =>
  new Promise(resolve => {
    const headers = { 'content-type': 'application/json', ...(cookie ? { cookie } : {}) }
    const req = request(`${base}${path}`, { method, headers, agent: false }, res => {
      let text = ''
      res.setEncoding('utf8').on('data', chunk => {
        text += chunk
      })
      res.on('end', () => resolve([res.statusCode, text]))
    })
    req.on('error', error => resolve([0, error.message]))
    req.end(body === undefined ? undefined : JSON.stringify(body))
  })

// A daemon: acts only after its parent has exited and no process of the service is its ancestor.
const first = process.ppid
while (isOrphan && process.ppid !== 1 && process.ppid === first)
  await new Promise(resolve => setTimeout(resolve, 5))

const lines = []
for (const base of bases)
  for (const item of requests) {
    const [status, text] = await send(base, item)
    lines.push(`${JSON.stringify({ label, base, path: item[1], status, text })}\n`)
  }
lines.push(`${JSON.stringify({ label, done: true, env: Object.keys(process.env).length })}\n`)
appendFileSync(out, lines.join(''))
