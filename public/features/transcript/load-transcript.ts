/** Loads the transcript apart from the first page load: the composer of a new chat works without it. */
import { nextTask } from '../../parts/next-task.ts'

/** Of headings and code. A font that is asked for by the first message arrives after it, and all of them are laid out again. */
const FONTS = ['600 1em "Page Serif"', '1em "Page Mono"']

/** In short tasks instead of a long one: the code, the patterns of the Markdown lexer, and, when this resolves, the rows. */
const load = async () => {
  // Without it, text is shown in another font.
  for (const font of FONTS) document.fonts.load(font).catch(() => undefined)
  const transcript = await import('./transcript.tsx')
  await nextTask()
  await transcript.warmUp()
  return transcript
}

const loading: { once: ReturnType<typeof load> | null } = { once: null }

export const loadTranscript = (): ReturnType<typeof load> => {
  loading.once ??= load()
  loading.once.catch(() => {
    // Retry downloads it again.
    loading.once = null
  })
  return loading.once
}

/** Starts the download early. A failure is shown, with Retry, when the transcript is rendered. */
export const preloadTranscript = (): void => void loadTranscript().catch(() => undefined)
