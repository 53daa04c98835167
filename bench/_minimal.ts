/** Baseline process: plain node:http that sends the same bytes with the same headers. */
import { createServer } from 'node:http'

export type MinimalRoutes = Record<string, { headers: string[]; body: string }>

process.once('message', (routes: MinimalRoutes) => {
  const table = new Map(
    Object.entries(routes).map(([path, { headers, body }]) => [
      path,
      { headers, body: Buffer.from(body, 'base64') },
    ]),
  )
  const server = createServer((req, res) => {
    const found = table.get(req.url ?? '')
    if (!found) return void res.writeHead(404).end()
    res.writeHead(200, found.headers)
    res.end(found.body)
  })
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    process.send?.(typeof address === 'object' && address ? address.port : 0)
  })
})
process.on('disconnect', () => process.exit())
