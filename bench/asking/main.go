// Command asking asks a management API the same questions in turn, without a pause, over one connection, as long as it
// is told to, and prints how often, and how long the answers took. search.sh has it ask beside those who publish.
//
//	asking -for 10s http://127.0.0.1:15672/api/whoami http://127.0.0.1:15672/api/x/letters/%2F?limit=50
package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"
)

func main() {
	lasts := flag.Duration("for", 10*time.Second, "how long it asks")
	user := flag.String("user", "guest", "who asks; the password is the same")
	flag.Parse()
	if err := ask(flag.Args(), *user, time.Now().Add(*lasts)); err != nil {
		fmt.Fprintln(os.Stderr, "asking:", err)
		os.Exit(1)
	}
}

// ask asks until that instant. An answer that is not 200 is an error.
func ask(urls []string, user string, until time.Time) error {
	if len(urls) == 0 {
		return fmt.Errorf("which questions?")
	}
	began := time.Now()
	var took []time.Duration
	for i := 0; time.Now().Before(until); i++ {
		asked := time.Now()
		if err := one(urls[i%len(urls)], user); err != nil {
			return err
		}
		took = append(took, time.Since(asked))
	}
	slices.Sort(took)
	ms := func(share float64) float64 {
		return float64(took[int(share*float64(len(took)-1))].Microseconds()) / 1000
	}
	fmt.Printf("asked %d, %.0f a second; answered in ms: p50 %.2f, p99 %.2f, max %.2f\n",
		len(took), float64(len(took))/time.Since(began).Seconds(), ms(0.5), ms(0.99), ms(1))
	return nil
}

func one(url, user string) error {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.SetBasicAuth(user, user)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	return nil
}
