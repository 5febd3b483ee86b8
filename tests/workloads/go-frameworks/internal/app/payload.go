// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"fmt"
	"strings"

	"example.org/shop/internal/store"
)

// OrderBody is what a client sends: an order of many items.
func OrderBody() []byte {
	order := store.Order{Customer: "c-1042", Notes: map[string]string{"gift": "yes", "floor": "3"}}
	for i := 0; i < 400; i++ {
		order.Items = append(order.Items, store.Item{
			SKU: fmt.Sprintf("sku-%06d", i), Title: fmt.Sprintf("Item number %d of the catalogue", i), Quantity: i%9 + 1,
			Price: float64(i) * 1.25, Tags: []string{fmt.Sprintf("shelf-%d", i%40), "new"}})
	}
	return encoded(order)
}

// TextBody is a review of some length.
func TextBody() []byte {
	return encoded(store.Review{Product: "p-7", Stars: 4, Text: strings.Repeat("It works as described, and it came in time. ", 900)})
}

// EventsBody is a batch of what a browser reports.
func EventsBody() []byte {
	events := []store.Event{}
	for i := 0; i < 300; i++ {
		events = append(events, store.Event{Kind: "click", Page: fmt.Sprintf("/products/%d?from=home", i),
			Fields: map[string]string{"x": fmt.Sprint(i), "y": fmt.Sprint(2 * i), "element": fmt.Sprintf("button-%d", i)}})
	}
	return encoded(events)
}

// LoginBody is small: what a session holds comes from the store.
func LoginBody() []byte { return []byte(`{"user":"maria","password":"secret"}`) }

func encoded(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return data
}
