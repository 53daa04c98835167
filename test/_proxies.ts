/** Reverse proxies in front of a service: nginx and Caddy with the files of docs/proxies, where installed, and a small one. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http'
import { request as requestHttps } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { findProgram } from '../lib/base/find-program.ts'
import { freePort } from '../build/start-program.ts'
import { tempDir } from './_temp-dir.ts'

/** Where a browser finds the service. */
export type Front = {
  name: string
  /** Path prefix, without a trailing slash. */
  base: string
  host: string
  port: number
  usesTls: boolean
}

export type FrontProxy = { fronts: Front[]; close: () => Promise<void> }

/** The services behind: one that knows no base path, one started with AGENT_WEBUI_BASE_PATH=/agent. */
export type Targets = { plain: string; based: string }

export type Visit = { method?: string; headers?: Record<string, string>; body?: string | Buffer }

/** Sends a request as the browser at `front` does; the body is not read. */
export const open = (front: Front, path: string, options: Visit = {}): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { method = 'GET', body } = options
    const headers = { Host: front.host, ...options.headers }
    const to = { host: '127.0.0.1', port: front.port, path: front.base + path, method, headers }
    const servername = front.host.replace(/:.*/, '')
    const req = front.usesTls
      ? requestHttps({ ...to, servername, rejectUnauthorized: false }, resolve)
      : requestHttp(to, resolve)
    req.on('error', reject)
    req.end(body)
  })

export const visit = async (
  front: Front,
  path: string,
  options: Visit = {},
): Promise<{ status: number; headers: IncomingHttpHeaders; text: string }> => {
  const res = await open(front, path, options)
  let text = ''
  for await (const chunk of res.setEncoding('utf8')) text += chunk
  return { status: res.statusCode ?? 0, headers: res.headers, text }
}

/** A proxy of the test's own, as if it ended TLS. `headers` are what it adds, `keeps` whether the service sees the prefix. */
export const openSmallProxy = async (
  name: string,
  target: string,
  options: {
    base?: string
    keeps?: boolean
    host?: string
    headers?: Record<string, string>
    /** Sends a response when it is complete. */
    collects?: boolean
    /** Of a request body; larger ones are refused. */
    maxBytes?: number
    /** Of the response, as a proxy that names itself sends it. */
    via?: string
  } = {},
): Promise<FrontProxy> => {
  const { base = '', keeps = false, host, headers: added = {}, via } = options
  const server = createServer((req, res) => {
    const path = req.url ?? '/'
    if (path !== base && !path.startsWith(`${base}/`)) return void res.writeHead(404).end()
    if (path === base && base !== '' && !keeps)
      return void res.writeHead(301, { Location: `${base}/` }).end()
    if (Number(req.headers['content-length'] ?? 0) > (options.maxBytes ?? Number.POSITIVE_INFINITY))
      return void res.writeHead(413, { Connection: 'close' }).end('<h1>413</h1>')
    const headers = { ...req.headers, ...(host === undefined ? {} : { host }), ...added }
    const inner = keeps ? path : path.slice(base.length) || '/'
    const onward = requestHttp(`${target}${inner}`, { method: req.method, headers }, answer => {
      if (via !== undefined) answer.rawHeaders.push('Via', via)
      res.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      if (options.collects) {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () => res.end(Buffer.concat(chunks)))
        return
      }
      res.flushHeaders()
      answer.pipe(res)
    })
    onward.on('error', () => res.destroy())
    res.on('close', () => onward.destroy())
    req.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    fronts: [{ name, base, host: 'example.com', port, usesTls: false }],
    async close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const PATH = `${process.env.PATH ?? ''}:/usr/sbin`

type Example = { file: string; base: string; target: string; port: number; host: string }

const examplesOf = async (files: readonly string[], targets: Targets): Promise<Example[]> =>
  Promise.all(
    files.map(async file => {
      const port = await freePort()
      const isPath = file.includes('-path')
      return {
        file,
        base: isPath ? '/agent' : '',
        target: new URL(file.includes('-kept') ? targets.based : targets.plain).host,
        port,
        host: `${isPath ? '' : 'agent.'}example.com:${port}`,
      }
    }),
  )

const readExample = ({ file, target }: Example): string => {
  const text = readFileSync(join('docs/proxies', file), 'utf8')
  if (!text.includes('127.0.0.1:8787')) throw new Error(`${file} names no service`)
  return text.replaceAll('127.0.0.1:8787', target)
}

const accepts = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy())
  })

/** Starts a proxy of this machine with its examples. Null, and a printed reason, where it is not installed. */
const openProgram = async (
  name: string,
  files: readonly string[],
  targets: Targets,
  configure: (dir: string, examples: Example[]) => string[],
): Promise<FrontProxy | null> => {
  const program = findProgram(PATH, name)
  if (!program || !findProgram(PATH, 'openssl')) {
    console.log(`  skipped: ${name} or openssl is not installed; the small proxy is tested instead`)
    return null
  }
  const dir = tempDir('proxy')
  const certificate =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=example.com -keyout key.pem -out cert.pem'
  execFileSync('openssl', certificate.split(' '), { cwd: dir, stdio: 'ignore' })
  const examples = await examplesOf(files, targets)
  const child: ChildProcess = spawn(program, configure(dir, examples), {
    cwd: dir,
    env: { PATH, HOME: dir },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr?.on('data', chunk => {
    said += chunk
  })
  const exited = once(child, 'exit')
  for (const { port } of examples)
    while (!(await accepts(port))) {
      if (child.exitCode !== null) throw new Error(`${name} does not start: ${said}`)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  return {
    fronts: examples.map(({ file, base, host, port }) => ({
      name: file,
      base,
      host,
      port,
      usesTls: true,
    })),
    async close() {
      child.kill('SIGTERM')
      await exited
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

export const openNginx = (targets: Targets): Promise<FrontProxy | null> =>
  openProgram(
    'nginx',
    ['nginx.conf', 'nginx-path.conf', 'nginx-path-kept.conf'],
    targets,
    (dir, examples) => {
      const servers = examples.map(example =>
        readExample(example)
          .replace('listen 443', `listen 127.0.0.1:${example.port}`)
          .replace(/(ssl_certificate) .*;/, `$1 ${dir}/cert.pem;`)
          .replace(/(ssl_certificate_key) .*;/, `$1 ${dir}/key.pem;`),
      )
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map(each => `${each}_temp_path ${dir}/${each};`)
        .join(' ')
      const main = `${process.getuid?.() === 0 ? 'user root; ' : ''}daemon off; worker_processes 1; pid ${dir}/pid; error_log stderr;
events {}
http { access_log off; ${temporary}
${servers.join('\n')}
}`
      writeFileSync(join(dir, 'nginx.conf'), main)
      return ['-p', dir, '-c', join(dir, 'nginx.conf'), '-e', 'stderr']
    },
  )

export const openCaddy = (targets: Targets): Promise<FrontProxy | null> =>
  openProgram(
    'caddy',
    ['Caddyfile', 'Caddyfile-path', 'Caddyfile-path-kept'],
    targets,
    (dir, examples) => {
      const sites = examples.map(example =>
        readExample(example).replace(
          /^(?:agent\.)?example\.com \{/m,
          `https://${example.host} {\n\tbind 127.0.0.1\n\ttls ${dir}/cert.pem ${dir}/key.pem`,
        ),
      )
      const main = `{\n\tadmin off\n\tauto_https off\n}\n${sites.join('\n')}`
      writeFileSync(join(dir, 'Caddyfile'), main)
      return ['run', '--config', join(dir, 'Caddyfile'), '--adapter', 'caddyfile']
    },
  )
