/** The container images: Dockerfile, compose.yml, and compose.cluster.yml agree with each other and with the program. What they run: proofs/image. */
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ALLOCATOR } from '../build/node-flags.mjs'
import { parse } from 'yaml'
import { clusterUrl } from '../lib/app/cell.ts'
import { readConfig } from '../lib/config.ts'
import { createDesk } from './lib/cli/_run.ts'
import { tempDir } from './_temp-dir.ts'

const test = suite('container images')

type Instruction = { name: string; rest: string }
type Stage = { name: string; instructions: Instruction[] }

const parseDockerfile = (text: string): Stage[] => {
  const joined = text.replace(/^#.*\n/gm, '').replace(/\\\n/g, ' ')
  const stages: Stage[] = []
  for (const line of joined.split('\n').filter(each => each.trim() !== '')) {
    const [, name = '', rest = ''] = /^([A-Z]+) +(.*)$/.exec(line) ?? []
    if (name === 'FROM') stages.push({ name: / AS (\S+)$/.exec(rest)?.[1] ?? '', instructions: [] })
    stages.at(-1)?.instructions.push({ name, rest: rest.trim() })
  }
  return stages
}

const stages = parseDockerfile(readFileSync('Dockerfile', 'utf8'))
const all = (stage: Stage, name: string): string[] =>
  stage.instructions.filter(each => each.name === name).map(({ rest }) => rest)
const only = (stage: Stage, name: string): string => {
  const [first, ...more] = all(stage, name)
  assert.is(more.length, 0, `${stage.name}: ${name}`)
  return first ?? ''
}
const shipped = stages.filter(({ name }) => ['bare', 'slim'].includes(name))

const variablesOf = (stage: Stage): Record<string, string> =>
  Object.fromEntries(
    all(stage, 'ENV').flatMap(rest =>
      rest.split(/ +/).map(pair => pair.split('=') as [string, string]),
    ),
  )

test('slim is the default, and what stages copy exists', () => {
  assert.equal(
    stages.map(({ name }) => name),
    ['build', 'files', 'bare', 'slim'],
  )
  const ignored = readFileSync('.dockerignore', 'utf8').split('\n')
  for (const [at, stage] of stages.entries())
    for (const rest of all(stage, 'COPY')) {
      const [, from] = /^--from=(\S+)/.exec(rest) ?? []
      if (from !== undefined) {
        assert.ok(
          stages.slice(0, at).some(({ name }) => name === from),
          `${stage.name}: ${from}`,
        )
        continue
      }
      for (const path of rest.split(/ +/).slice(0, -1)) {
        assert.ok(existsSync(path), path)
        assert.not(ignored.includes(path), path)
      }
    }
  // Nothing that the build reads is kept from it.
  assert.equal(globSync('{lib,handlers,public,build}/**/!(README).md'), [])
})

test('what installs the packages is copied before they are installed', () => {
  const before = stages[0]!.instructions.slice(
    0,
    stages[0]!.instructions.findIndex(({ rest }) => rest === 'node setup.mjs'),
  )
  const copied = before.flatMap(({ name, rest }) => (name === 'COPY' ? rest.split(/ +/) : []))
  const needed = new Set(['setup.mjs'])
  for (const path of needed)
    for (const [, name] of readFileSync(path, 'utf8').matchAll(
      /(?:from |URL\()'(?:\.\/)?([\w/-]+\.mjs)'/g,
    ))
      if (name) needed.add(join(dirname(path), name))
  const lock = readFileSync('package-lock.json', 'utf8')
  for (const [, path] of lock.matchAll(/"resolved": "file:([^"]+)"/g)) if (path) needed.add(path)
  assert.ok(needed.has('build/inputs.mjs') && needed.has('build/mermaid.tgz'))
  for (const path of needed) assert.ok(copied.includes(path), path)
})

test('the images run under any user id, are checked by the program itself, and the program accepts their settings', async () => {
  const commands = new Set<string>()
  for (const stage of shipped) {
    const env = variablesOf(stage)
    const config = readConfig(env, [])
    assert.equal([config.isExposed, String(config.port)], [true, only(stage, 'EXPOSE')])
    assert.is(env.HOME, only(stage, 'VOLUME'))
    for (const [name, value] of Object.entries(ALLOCATOR)) assert.is(env[name], value)
    assert.match(only(stage, 'USER'), /^[1-9]\d*:[1-9]\d*$/)
    const entry = JSON.parse(only(stage, 'ENTRYPOINT')) as string[]
    const check = JSON.parse(/CMD (.*)$/.exec(only(stage, 'HEALTHCHECK'))?.[1] ?? '') as string[]
    assert.is(check[0], entry.at(-1))
    commands.add(check.slice(1, -1).join(' '))
  }
  const desk = createDesk()
  // Nothing runs here: that is code 1, and 2 would be a command that does not exist.
  for (const words of commands)
    assert.is((await desk.talk([...words.split(' '), '1'])).code, 1, words)
  desk.close()
})

test('compose.yml builds a stage that exists, with settings that the program accepts, and leaves turns their time', () => {
  const { services, volumes } = parse(readFileSync('compose.yml', 'utf8'))
  const [service] = Object.values(services) as Record<string, never>[]
  const {
    build,
    environment,
    ports,
    volumes: mounts,
  } = service as never as {
    build: { target: string; args: Record<string, string> }
    environment: Record<string, string>
    ports: string[]
    volumes: string[]
  }
  const stage = stages.find(({ name }) => name === build.target)!
  const args = all(stage, 'ARG').map(rest => rest.split('=')[0])
  assert.equal(Object.keys(build.args), args)
  const blank = Object.fromEntries(Object.keys(environment).map(name => [name, '']))
  assert.is(readConfig({ ...variablesOf(stage), ...blank }, []).password, null)
  const port = only(stage, 'EXPOSE')
  assert.equal(ports, [`127.0.0.1:${port}:${port}`])
  assert.equal(mounts, [`${Object.keys(volumes)[0]}:${only(stage, 'VOLUME')}`])
  const { read_only, stop_grace_period } = service as never as Record<string, unknown>
  assert.equal([read_only, stop_grace_period], [true, '30s'])
})

type Compose = {
  services: Record<
    string,
    {
      build?: { target: string }
      command?: string[]
      environment: Record<string, string>
      ports?: string[]
      volumes?: string[]
      secrets: string[]
      networks: string[]
      healthcheck?: { test: string[] }
      depends_on?: Record<string, { condition: string }>
      read_only?: boolean
      cap_drop?: string[]
    }
  >
  secrets: Record<string, { file: string }>
  volumes: Record<string, unknown>
  networks: Record<string, { ipam: { config: { subnet: string }[] } }>
}

/** Variables of the person who runs it. */
const interpolate = (text: string, given: Record<string, string>): string =>
  text.replace(/\$\{(\w+):-([^}]*)\}/g, (_, name, otherwise) => given[name] ?? otherwise)

test('compose.cluster.yml: secrets are files, workers and forwarders get settings that the program accepts, and only forwarders are reached', () => {
  const text = readFileSync('compose.cluster.yml', 'utf8')
  const { services, secrets, volumes, networks } = parse(text, { merge: true }) as Compose
  const [subnet] = networks.inside!.ipam.config
  const [people] = /AUTH_HEADER=\S+ PROXY=\S+/.exec(text) ?? ['']
  const given = Object.fromEntries(people.split(' ').map(pair => pair.split('=')))
  assert.equal(given, { AUTH_HEADER: 'Remote-User', PROXY: '172.30.87.1' })
  const dir = tempDir('compose')
  try {
    writeFileSync(join(dir, 'database.url'), 'postgres://agent:word@database/agent')
    const own = Object.entries(services).filter(([name]) => name !== 'database')
    assert.equal(
      own.map(([name]) => name),
      ['worker-1', 'worker-2', 'forwarder-1', 'forwarder-2'],
    )
    for (const [name, service] of own) {
      const isForwarder = name.startsWith('forwarder')
      const stage = stages.find(each => each.name === service.build?.target)!
      const environment = Object.fromEntries(
        Object.entries(service.environment).map(([variable, value]) => [
          variable,
          interpolate(value.replace('/run/secrets', dir), isForwarder ? {} : given),
        ]),
      )
      const config = readConfig({ ...variablesOf(stage), ...environment }, [])
      assert.is(config.authHeader, isForwarder ? null : 'remote-user')
      assert.is(clusterUrl(config.cluster!), 'postgres://agent:word@database/agent', name)
      const wanted = isForwarder ? ['database.url'] : ['database.url', 'cluster.key']
      assert.equal(service.secrets, wanted)
      const port = only(stage, 'EXPOSE')
      if (isForwarder) {
        assert.equal(service.command, ['forward'])
        assert.match(service.ports![0]!, new RegExp(`^127\\.0\\.0\\.1:\\d+:${port}$`))
        assert.match(service.healthcheck!.test.at(-1)!, `:${port}/forward/health`)
        const named = Object.entries(service.environment).map(([variable, value]) => [
          variable,
          interpolate(value.replace('/run/secrets', dir), given),
        ])
        const behind = readConfig({ ...variablesOf(stage), ...Object.fromEntries(named) }, [])
        assert.equal([behind.authHeader, behind.trustedProxies], ['remote-user', [given.PROXY]])
      } else {
        assert.is(config.cluster?.keyFile, join(dir, 'cluster.key'))
        assert.is(config.cluster?.address, `http://${name}:${port}`)
        assert.equal(config.trustedProxies, [subnet!.subnet])
        assert.equal([service.ports, service.command], [undefined, ['worker']])
        assert.equal(service.volumes, [`${name}:${only(stage, 'VOLUME')}`])
        assert.is(config.cluster?.worker.name, name)
      }
      assert.equal(service.networks, ['inside'])
      assert.equal([service.read_only, service.cap_drop], [true, ['ALL']])
      assert.is(service.depends_on?.database?.condition, 'service_healthy')
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
  assert.is(services.database?.ports, undefined)
  assert.equal(Object.keys(volumes), ['database', 'worker-1', 'worker-2'])
  const ignored = readFileSync('.gitignore', 'utf8').split('\n')
  assert.ok(ignored.includes('/secrets/'))
  assert.ok(readFileSync('.dockerignore', 'utf8').split('\n').includes('secrets'))
  for (const { file } of Object.values(secrets)) {
    assert.match(file, /^\.\/secrets\//)
    // The comment at its top says how to make each.
    assert.match(text, `> ${file.slice(2)}`)
  }
})

test.run()
