/** Whether this command was started by a program of the agent: then it must not do what only a person may. */
import type { Config } from '../../config.ts'
import { runningPid } from '../../store/instance-lock.ts'
import { isDescendantOf } from './own-processes.ts'

export const isStartedByAgent = ({ env, stateDir }: Config): boolean => {
  const service = runningPid(stateDir)
  return Boolean(env.AGENT_SESSION_KEY) || (service !== undefined && isDescendantOf(service))
}
