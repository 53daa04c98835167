/** `agent-webui doctor`: checks the setup and suggests fixes. Exits with 1 when a check failed. */
import { hintFor } from '../agent/failure.ts'
import { createProviders, createProxyDispatcher } from '../agent/providers/registry.ts'
import type { Config } from '../config.ts'
import { createModelServices } from '../models/model-services.ts'
import { writeEnv } from '../profiles/write-env.ts'
import { createHomes } from '../profiles/homes.ts'
import { redact, redactValue } from '../redact/redact.ts'
import type { DoctorArguments } from './arguments.ts'
import { type Check, fail, type Level } from './check.ts'
import { runChecks } from './checks.ts'
import type { Terminal } from './terminal.ts'

const MARKS: Readonly<Record<Level, string>> = { ok: '✓', warn: '!', fail: '✗' }

const lineOf = ({ about, level, said, advice }: Check): string =>
  `${MARKS[level]} ${about}: ${said}${advice ? `\n    ${advice}` : ''}`

const END = {
  ok: 'Everything is OK.',
  warn: 'Working, with warnings. See the lines marked with !',
  fail: 'Some checks failed. See the lines marked with ✗',
} as const

/** An invalid environment stops every start, so nothing else can be checked. */
export const reportBadEnvironment = async (
  said: string,
  { json, terminal }: { json: boolean; terminal: Terminal },
): Promise<number> => {
  const advice = 'Fix the environment variable, then run doctor again.'
  const checks: Check[] = [fail('environment', said, advice)]
  terminal.out(
    json
      ? `${JSON.stringify({ ok: false, checks }, null, 2)}\n`
      : `${checks.map(lineOf).join('\n')}\n\n${END.fail}\n`,
  )
  await terminal.drain()
  return 1
}

export const doctor = async (
  { json, profile }: Pick<DoctorArguments, 'json' | 'profile'>,
  given: { config: Config; addon: string | undefined; version: string; terminal: Terminal },
): Promise<number> => {
  const { config, addon, version, terminal } = given
  const homes = createHomes(config)
  const home = homes.open(profile ?? homes.active())
  const dispatcher = await createProxyDispatcher(config.env)
  const models = createModelServices({
    config,
    providers: createProviders(dispatcher),
    dispatcher,
    hintFor,
    writeEnv,
    log: () => undefined,
    redact,
    agentModels: () => [],
  })
  const checks = redactValue(await runChecks({ config, home, models, addon }, version))
  const failed = checks.some(({ level }) => level === 'fail')
  if (json) terminal.out(`${JSON.stringify({ ok: !failed, version, checks }, null, 2)}\n`)
  else {
    const end = END[failed ? 'fail' : checks.some(({ level }) => level === 'warn') ? 'warn' : 'ok']
    const node = `Node ${process.versions.node}`
    terminal.out(`agent-webui ${version}, ${node}\n\n${checks.map(lineOf).join('\n')}\n\n${end}\n`)
  }
  await terminal.drain()
  return failed ? 1 : 0
}
