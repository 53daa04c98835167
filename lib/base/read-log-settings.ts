/** How the log is written: AGENT_WEBUI_LOG and AGENT_WEBUI_LOG_LEVEL. */
import { LOG_FORMATS, LOG_LEVELS, type LogSettings } from '../schema/log-settings.ts'
import { isCellName } from './cluster-settings.ts'

const isOneOf = <T extends string>(words: readonly T[], text: string): text is T =>
  words.some(word => word === text)

/** Never throws: the log has to exist before the configuration is read, which rejects other words. */
export const readLogSettings = (env: Readonly<Record<string, string | undefined>>): LogSettings => {
  const format = env.AGENT_WEBUI_LOG?.trim() ?? ''
  const level = env.AGENT_WEBUI_LOG_LEVEL?.trim() ?? ''
  const cell = env.AGENT_WEBUI_CLUSTER_CELL?.trim() ?? ''
  return {
    format: isOneOf(LOG_FORMATS, format) ? format : 'text',
    level: isOneOf(LOG_LEVELS, level) ? level : 'info',
    cell: env.AGENT_WEBUI_CLUSTER_RUN_BY && isCellName(cell) ? cell : null,
  }
}

/** Throws an Error with a sentence. */
export const rejectLogSettings = (get: (name: string) => string): void => {
  for (const [name, words] of [
    ['AGENT_WEBUI_LOG', LOG_FORMATS],
    ['AGENT_WEBUI_LOG_LEVEL', LOG_LEVELS],
  ] as const) {
    const text = get(name)
    if (text !== '' && !isOneOf<string>(words, text))
      throw new Error(`${name} must be ${words.join(' or ')}, not "${text}"`)
  }
}
