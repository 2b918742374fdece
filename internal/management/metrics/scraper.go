package metrics

import (
	"sync"
)

// scraper is what is remembered between scrapes.
type scraper struct {
	answers answers
	turns   chan struct{} // the pages with single objects that are made; others wait
	totals  chan struct{} // the other pages that are made

	mu struct {
		sync.Mutex
		pages  map[string]*sharedPage // that will be made, by their keys
		octets octetTotals
	}
}

const (
	// scrapesMax is how many pages with single objects are made at a time, and how many others.
	scrapesMax = 1
)

func newScraper() *scraper {
	c := &scraper{turns: make(chan struct{}, scrapesMax), totals: make(chan struct{}, scrapesMax)}
	c.mu.pages = map[string]*sharedPage{}
	c.mu.octets.seen = map[octetKey]octets{}
	return c
}
