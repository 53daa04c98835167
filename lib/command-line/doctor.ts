/** `agent-webui doctor`: what is set up, what is missing, and what to do about it; 1 when something cannot work. */
import { hintFor } from '../agent/failure.ts'
import { createProviders, proxyOf } from '../agent/providers/pick.ts'
import type { Config } from '../config.ts'
import { createModels } from '../models/models.ts'
import { writeEnv } from '../profiles/env-write.ts'
import { createHomes } from '../profiles/homes.ts'
import { redact, redactValue } from '../redact.ts'
import type { DoctorArguments } from './arguments.ts'
import { type Check, type Level, runChecks } from './checks.ts'
import type { Terminal } from './terminal.ts'

const MARKS: Readonly<Record<Level, string>> = { ok: '✓', warn: '!', fail: '✗' }

const lineOf = ({ about, level, said, advice }: Check): string =>
  `${MARKS[level]} ${about}: ${said}${advice ? `\n    ${advice}` : ''}`

export const doctor = async (
  { json, profile }: DoctorArguments,
  given: { config: Config; addon: string | undefined; version: string; terminal: Terminal },
): Promise<number> => {
  const { config, addon, version, terminal } = given
  const homes = createHomes(config)
  const home = homes.open(profile ?? homes.active())
  const dispatcher = await proxyOf(config.env)
  const models = createModels({
    config,
    providers: createProviders(dispatcher),
    dispatcher,
    hintFor,
    writeEnv,
    log: () => undefined,
    redact,
    agentModels: () => [],
  })
  const checks = redactValue(await runChecks({ config, home, models, addon }))
  const failed = checks.some(({ level }) => level === 'fail')
  if (json) terminal.out(`${JSON.stringify({ ok: !failed, version, checks }, null, 2)}\n`)
  else {
    const warned = checks.filter(({ level }) => level === 'warn').length
    const end = failed
      ? 'Something cannot work.'
      : warned > 0
        ? 'It works; see the lines marked with !'
        : 'All is well.'
    const node = `Node ${process.versions.node}`
    terminal.out(`agent-webui ${version}, ${node}\n\n${checks.map(lineOf).join('\n')}\n\n${end}\n`)
  }
  await terminal.drain()
  return failed ? 1 : 0
}
