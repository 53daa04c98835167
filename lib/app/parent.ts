/** The end of npm ends the service that `npm start` became: npm signals its shell, which exits without forwarding the signal. */

const EVERY_MS = 500

/**
 * `AGENT_WEBUI_PARENT` is the process that setup.mjs was started by. After an update the service is another program in the same
 * process, with the same parent; started by anyone else, it has another one and nothing is watched.
 */
export const watchParent = (
  { AGENT_WEBUI_PARENT: parent }: Readonly<Record<string, string>>,
  stop: () => void,
): NodeJS.Timeout | undefined =>
  parent === String(process.ppid)
    ? setInterval(() => parent === String(process.ppid) || stop(), EVERY_MS).unref()
    : undefined
