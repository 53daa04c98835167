/** The day at that moment where the person lives, as the configuration says; else where the service runs. */
export const dayOf = (seconds: number, zone: unknown): string => {
  const day = (timeZone?: string) =>
    new Intl.DateTimeFormat('en-CA', { dateStyle: 'short', ...(timeZone && { timeZone }) }).format(
      seconds * 1_000,
    )
  try {
    return day(typeof zone === 'string' ? zone.trim() : undefined)
  } catch {
    // No such zone.
    return day()
  }
}
