/** The name of a device that has none of its own: browser and operating system of its user agent. */

const BROWSERS: Readonly<Record<string, string>> = {
  Edg: 'Edge',
  EdgA: 'Edge',
  EdgiOS: 'Edge',
  OPR: 'Opera',
  FxiOS: 'Firefox',
  CriOS: 'Chrome',
}

/** Empty when the user agent names neither. Order matters: Chrome also names Safari, and Edge also names Chrome. */
export const deviceName = (agent: string): string => {
  const browser =
    /\b(EdgA|EdgiOS|Edg|OPR|FxiOS|CriOS|Firefox)\//.exec(agent)?.[1] ??
    /(Chrome|Safari)\//.exec(agent)?.[1] ??
    ''
  const system =
    /(Android|iPhone|iPad|Windows|Mac OS X|CrOS|Linux)/
      .exec(agent)?.[1]
      ?.replace('Mac OS X', 'macOS') ?? ''
  return [BROWSERS[browser] ?? browser, system].filter(Boolean).join(' · ')
}
