/** Asks about each new destination of a running command. The command waits for the answer. */
import { networkKey, placeOf } from '../../base/network-key.ts'
import { Refusal } from '../../base/refusal.ts'
import { denial } from '../permissions/denied-path.ts'
import type { RunsIn } from '../../schema/command-place.ts'
import type { Reason } from '../../schema/question.ts'
import { because } from '../reasons.ts'
import type { ApprovalRequest, CheckTarget, NetworkTarget } from '../tool-services.ts'
import type { ToolContext } from '../types.ts'
import type { Countdown } from './countdown.ts'

const MAX_SHOWN = 60

/** The first line, short enough for a sentence. */
const nameOf = (command: string): string => {
  const [line = '', ...more] = command.trim().split('\n')
  return line.length > MAX_SHOWN || more.length > 0
    ? `${line.slice(0, MAX_SHOWN).trimEnd()} …`
    : line
}

const reasonOf = (command: string, target: NetworkTarget): Reason => ({
  reaches: {
    command: nameOf(command),
    place: placeOf(target),
    ...(target.isPrivate && { private: true as const }),
    ...(target.address !== undefined && { address: target.address }),
  },
})

const END = 'Do not try to reach it another way.'

/** A rule that denies a host to the web tools denies it to commands. */
const deniedHost = (rules: ToolContext['rules'], host: string): string | null => {
  const verdict = rules?.decide({ tool: '', accesses: [{ kind: 'host', host }] })
  return rules && verdict?.list === 'deny' ? denial(verdict, rules) : null
}

export type NetworkGate = {
  check: CheckTarget
  /** What stands still while a question is open. */
  pauses: (countdown: Pick<Countdown, 'pause' | 'go'>) => void
  /** Hosts that were not allowed, for the result of the command. */
  denied: () => string[]
}

/** For the result that the model reads. */
export const deniedFields = ({ denied }: Pick<NetworkGate, 'denied'>) =>
  denied().length > 0 ? { network: `Not allowed: ${denied().join(', ')}.` } : {}

type Asked = Pick<ApprovalRequest, 'command' | 'cwd'> & { runsIn: RunsIn | undefined }
type Context = Pick<ToolContext, 'approve' | 'allowsNetwork' | 'rules' | 'signal'>

/** One per command: an answer for this command is remembered, a denial as well. */
export const createNetworkGate = (ctx: Context, { command, cwd, runsIn }: Asked): NetworkGate => {
  const answers = new Map<string, Promise<string | null>>()
  const denied = new Set<string>()
  let countdown: Pick<Countdown, 'pause' | 'go'> | undefined

  /** After the end of the turn no one is asked: what was allowed before counts. */
  const withoutAsking = (key: string, target: NetworkTarget): string | null =>
    ctx.allowsNetwork?.(key)
      ? null
      : `Not approved: ${placeOf(target)} was not allowed before, and the turn that could ask has ended.`

  const ask = async (
    key: string,
    target: NetworkTarget,
    signal: AbortSignal,
  ): Promise<string | null> => {
    const paused = countdown
    paused?.pause()
    try {
      const choice = await ctx.approve({
        command,
        cwd,
        ...(runsIn && { runsIn }),
        patternKeys: [key],
        ...because(reasonOf(command, target)),
        choices: ['once', 'session', 'always', 'deny'],
        network: target,
        signal,
      })
      return choice === 'deny' ? `The user denied access to ${placeOf(target)}. ${END}` : null
    } catch (error) {
      if (error instanceof Refusal) return error.message
      return withoutAsking(key, target)
    } finally {
      paused?.go()
    }
  }

  return {
    async check(target, ended) {
      const key = networkKey(target)
      const ruled = deniedHost(ctx.rules, target.host)
      if (ruled !== null) {
        denied.add(placeOf(target))
        return ruled
      }
      const known = answers.get(key)
      const answer = known ?? (ctx.signal.aborted ? null : ask(key, target, ended))
      if (!known && answer) answers.set(key, answer)
      const why = answer ? await answer : withoutAsking(key, target)
      if (why !== null) denied.add(placeOf(target))
      return why
    },
    pauses(given) {
      countdown = given
    },
    denied: () => [...denied],
  }
}
