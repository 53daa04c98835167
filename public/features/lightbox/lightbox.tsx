/** Pictures of the transcript in full size: arrows and swipes go through them, wheel, keys and two fingers zoom. */
import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { App } from '../../app.ts'
import { IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { loadLazyCss } from '../../parts/lazy-css.ts'
import { t } from './strings.ts'

type Picture = { src: string; alt: string }
type View = { scale: number; x: number; y: number }

const WHOLE: View = { scale: 1, x: 0, y: 0 }
const MAX_SCALE = 8
/** A shorter movement of one finger is a tap. */
const SWIPE_PX = 60

export const openLightbox = async (app: App, clicked: HTMLImageElement): Promise<void> => {
  await loadLazyCss()
  const place = clicked.closest('.transcript, .md') ?? document
  const all = [...place.querySelectorAll<HTMLImageElement>('[data-picture] img')]
  const images = all.includes(clicked) ? all : [clicked]
  app.shell.layout.overlay.value = (
    <Lightbox
      pictures={images.map(({ src, alt }) => ({ src, alt }))}
      first={images.indexOf(clicked)}
      onClose={() => {
        app.shell.layout.overlay.value = null
      }}
    />
  )
}

const clampScale = (scale: number): number => Math.min(MAX_SCALE, Math.max(1, scale))

/** Zooms around a point, which is relative to the middle of the picture. */
const zoomed = (view: View, scale: number, at = { x: 0, y: 0 }): View => {
  const next = clampScale(scale)
  if (next === 1) return WHOLE
  const ratio = next / view.scale
  return { scale: next, x: at.x - (at.x - view.x) * ratio, y: at.y - (at.y - view.y) * ratio }
}

type Point = { x: number; y: number }

const distanceOf = ([a, b]: Point[]): number => Math.hypot(a!.x - b!.x, a!.y - b!.y)

/** One pointer moves a zoomed picture or swipes to the next one; two pointers zoom. */
const useGestures = (view: Signal<View>, step: (by: number) => void) => {
  const { scale } = view.value
  const pointers = useRef(new Map<number, Point>())
  const start = useRef<Point>({ x: 0, y: 0 })
  const middleOf = (event: PointerEvent | WheelEvent): Point => {
    const box = (event.currentTarget as Element).getBoundingClientRect()
    return {
      x: event.clientX - box.left - box.width / 2,
      y: event.clientY - box.top - box.height / 2,
    }
  }
  return {
    onPointerDown(event: PointerEvent) {
      ;(event.currentTarget as Element).setPointerCapture(event.pointerId)
      pointers.current.set(event.pointerId, { x: event.clientX, y: event.clientY })
      start.current = { x: event.clientX, y: event.clientY }
    },
    onPointerMove(event: PointerEvent) {
      const before = pointers.current.get(event.pointerId)
      if (!before) return
      const now = { x: event.clientX, y: event.clientY }
      const apart = pointers.current.size === 2 ? distanceOf([...pointers.current.values()]) : 0
      pointers.current.set(event.pointerId, now)
      if (pointers.current.size === 2) {
        const ratio = distanceOf([...pointers.current.values()]) / Math.max(1, apart)
        view.value = zoomed(view.value, view.value.scale * ratio, middleOf(event))
      } else if (scale > 1) {
        const { x, y } = view.value
        view.value = { ...view.value, x: x + now.x - before.x, y: y + now.y - before.y }
      }
    },
    onPointerUp(event: PointerEvent) {
      const wasAlone = pointers.current.size === 1
      pointers.current.delete(event.pointerId)
      const moved = event.clientX - start.current.x
      if (wasAlone && scale === 1 && Math.abs(moved) > SWIPE_PX) step(moved < 0 ? 1 : -1)
    },
    onPointerCancel(event: PointerEvent) {
      pointers.current.delete(event.pointerId)
    },
    onWheel(event: WheelEvent) {
      event.preventDefault()
      const at = middleOf(event)
      view.value = zoomed(view.value, view.value.scale * Math.exp(-event.deltaY / 300), at)
    },
    onDblClick(event: MouseEvent) {
      const at = middleOf(event as PointerEvent)
      view.value = scale > 1 ? WHOLE : zoomed(view.value, 2.5, at)
    },
  }
}

type Props = { pictures: readonly Picture[]; first: number; onClose: () => void }

const Lightbox = ({ pictures, first, onClose }: Props) => {
  const ref = useRef<HTMLDialogElement>(null)
  const index = useSignal(first)
  const view = useSignal(WHOLE)
  const broken = useSignal('')
  const { src, alt } = pictures[index.value]!
  const title = t('lightbox.title', { number: index.value + 1, total: pictures.length })
  useEffect(() => {
    const before = document.activeElement
    ref.current?.showModal()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  const step = (by: number) => {
    const next = Math.min(pictures.length - 1, Math.max(0, index.value + by))
    if (next === index.value) return
    index.value = next
    view.value = WHOLE
  }
  const zoom = (factor: number) => {
    view.value = zoomed(view.value, view.value.scale * factor)
  }
  const gestures = useGestures(view, step)
  const rtl = document.dir === 'rtl' ? -1 : 1
  const keys: Record<string, () => void> = {
    ArrowLeft: () => step(-rtl),
    ArrowRight: () => step(rtl),
    Home: () => step(-pictures.length),
    End: () => step(pictures.length),
    '+': () => zoom(1.5),
    '=': () => zoom(1.5),
    '-': () => zoom(1 / 1.5),
    '0': () => {
      view.value = WHOLE
    },
  }
  return (
    <dialog
      ref={ref}
      class="lightbox"
      aria-label={title}
      onCancel={event => {
        event.preventDefault()
        onClose()
      }}
      onKeyDown={event => {
        const run = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key]
        if (!run) return
        event.preventDefault()
        run()
      }}
    >
      <header class="lightbox-head">
        <p class="lightbox-name" role="status">
          <bdi>{alt}</bdi>
          {pictures.length > 1 && <span>{` ${index.value + 1} / ${pictures.length}`}</span>}
        </p>
        <ZoomButtons zoom={zoom} />
        <a class="icon-button" href={src} download="" aria-label={t('lightbox.download')}>
          <Icon name="download" size={18} />
        </a>
        <IconButton icon="close" label={t('app.close')} onClick={onClose} />
      </header>
      <div class="lightbox-stage" {...gestures}>
        {broken.value === src ? (
          <p class="lightbox-note">{t('lightbox.failed')}</p>
        ) : (
          <img
            key={src}
            src={src}
            alt={alt}
            draggable={false}
            style={{
              transform: `translate(${view.value.x}px, ${view.value.y}px) scale(${view.value.scale})`,
            }}
            onError={() => {
              broken.value = src
            }}
          />
        )}
      </div>
      {index.value > 0 && (
        <IconButton
          class="lightbox-step lightbox-previous"
          icon="chevron-right"
          label={t('lightbox.previous')}
          onClick={() => step(-1)}
        />
      )}
      {index.value < pictures.length - 1 && (
        <IconButton
          class="lightbox-step lightbox-next"
          icon="chevron-right"
          label={t('lightbox.next')}
          onClick={() => step(1)}
        />
      )}
    </dialog>
  )
}

const ZoomButtons = ({ zoom }: { zoom: (factor: number) => void }) => (
  <>
    <button
      type="button"
      class="icon-button"
      aria-label={t('lightbox.out')}
      title={t('lightbox.out')}
      onClick={() => zoom(1 / 1.5)}
    >
      −
    </button>
    <button
      type="button"
      class="icon-button"
      aria-label={t('lightbox.in')}
      title={t('lightbox.in')}
      onClick={() => zoom(1.5)}
    >
      +
    </button>
  </>
)
