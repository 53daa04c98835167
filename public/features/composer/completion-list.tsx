/** What the composer suggests above itself: commands, or files, chats, and skills. */
import { useEffect } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { Marked } from '../../parts/marked.tsx'
import { COMPLETION_ID, offerId, type Suggestion } from './completion.ts'
import { t as tList } from './completion-strings.ts'
import { t } from '../../strings/t.ts'
import { useComposer } from '../../contexts.ts'

const OfferLine = ({ offer }: { offer: Suggestion }) =>
  offer.kind === 'command' ? (
    <>
      <span class="offer-name" dir="ltr">
        /{offer.name}
      </span>
      {offer.argument && (
        <span class="offer-argument" dir="ltr">
          {offer.argument}
        </span>
      )}
      <span class="offer-summary">{offer.summary}</span>
    </>
  ) : offer.kind === 'mention' ? (
    <>
      <Icon name={offer.icon} size={16} />
      <span class="offer-path" dir="auto">
        <Marked text={offer.name} ranges={offer.ranges} />
      </span>
      <span class="offer-summary">{offer.hint}</span>
    </>
  ) : (
    <>
      <Icon name={offer.directory ? 'folder' : 'file'} size={16} />
      <span class="offer-path">
        <Marked text={offer.path} ranges={offer.ranges} />
      </span>
    </>
  )

type Section = { heading: string; offers: { offer: Suggestion; index: number }[] }

/** Commands stand under what they are about. */
const sectionsOf = (suggestions: readonly Suggestion[]): Section[] => {
  const sections = new Map<string, Section>()
  for (const [index, offer] of suggestions.entries()) {
    const heading = offer.kind === 'command' ? tList(`group.${offer.group}`) : ''
    const section = sections.get(heading) ?? { heading, offers: [] }
    section.offers.push({ offer, index })
    sections.set(heading, section)
  }
  return [...sections.values()]
}

const keyOf = (offer: Suggestion): string =>
  offer.kind === 'file' ? offer.path : offer.kind === 'mention' ? offer.text : offer.name

export const CompletionList = ({ onTake }: { onTake: (index: number) => void }) => {
  const { completion } = useComposer()
  const suggestions = completion.suggestions.value
  const active = completion.active.value
  useEffect(() => {
    document.getElementById(offerId(active))?.scrollIntoView({ block: 'nearest' })
  }, [active, suggestions])
  const label = t(suggestions[0]?.kind === 'command' ? 'composer.commands' : 'composer.files')
  return (
    <div id={COMPLETION_ID} class="offers" role="listbox" aria-label={label}>
      {sectionsOf(suggestions).map(({ heading, offers }) => (
        // biome-ignore lint/a11y/useSemanticElements: a group of options has no element of its own
        <div key={heading} role="group" aria-label={heading || label}>
          {heading && (
            <div class="picker-head" aria-hidden="true">
              {heading}
            </div>
          )}
          {offers.map(({ offer, index }) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: focus stays in the message box, which handles the keys (ARIA combobox pattern)
            <div
              key={keyOf(offer)}
              id={offerId(index)}
              class="offer"
              role="option"
              tabIndex={-1}
              aria-selected={index === active}
              onMouseMove={() => {
                completion.active.value = index
              }}
              // Keep the focus in the textarea.
              onMouseDown={event => event.preventDefault()}
              onClick={() => onTake(index)}
            >
              <OfferLine offer={offer} />
            </div>
          ))}
        </div>
      ))}
    </div>
  )
}
