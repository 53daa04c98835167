/** Loads the transcript apart from the first page load: the composer of a new chat works without it. */
export const loadTranscript = () => import('./transcript.tsx')

/** Starts the download early. A failure is shown, with Retry, when the transcript is rendered. */
export const preloadTranscript = (): void => void loadTranscript().catch(() => undefined)
